/* One report, from a campaign's file to bytes that could be sent.
 *
 *   example CAMPAIGN SIGNER STATE NOW VALUE...
 *
 * CAMPAIGN: file that `scumble campaign sign` wrote. SIGNER: 64 hexadecimal digits. STATE: file, made if it is missing.
 * NOW: seconds since 1970. Prints the report in hexadecimal digits, or nothing when there is nothing to send. */
#define _POSIX_C_SOURCE 200809L /* fileno, fsync */
#include "scumble_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

static void refuse(int32_t code, const char *what) {
    if (code == SCUMBLE_DEVICE_DONE) return;
    fprintf(stderr, "%s: refused (%d): %s\n", what, (int)code, scumble_device_message(code));
    exit(1);
}

/* The whole file, or NULL when there is none. */
static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t room = 4096;
    uint8_t *bytes = malloc(room);
    *length = 0;
    while (bytes) {
        *length += fread(bytes + *length, 1, room - *length, file);
        if (*length < room) break;
        bytes = realloc(bytes, room *= 2);
    }
    fclose(file);
    return bytes;
}

/* Complete or not at all: to a file beside, to the disk, then renamed. */
static int write_file(const char *path, const uint8_t *bytes, size_t length) {
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside) return 0;
    FILE *file = fopen(beside, "wb");
    if (!file) return 0;
    int good = fwrite(bytes, 1, length, file) == length && fflush(file) == 0;
#ifndef _WIN32
    good = good && fsync(fileno(file)) == 0;
#endif
    good = fclose(file) == 0 && good;
    return good && rename(beside, path) == 0;
}

static int from_hex(const char *text, uint8_t *bytes, size_t length) {
    if (strlen(text) != 2 * length) return 0;
    for (size_t i = 0; i < length; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1) return 0;
        bytes[i] = (uint8_t)byte;
    }
    return 1;
}

int main(int count, char **words) {
    uint8_t signer[32];
    if (count < 6 || !from_hex(words[2], signer, sizeof signer)) {
        fprintf(stderr, "usage: %s CAMPAIGN SIGNER STATE NOW VALUE...\n", words[0]);
        return 2;
    }
    size_t campaign_length = 0, state_length = 0, length;
    uint8_t *campaign = read_file(words[1], &campaign_length);
    uint8_t *state = read_file(words[3], &state_length); /* NULL on a new device */
    size_t values_count = (size_t)count - 5;
    float *values = malloc(values_count * sizeof *values);
    if (!campaign || !values) {
        fprintf(stderr, "%s: cannot be read\n", words[1]);
        return 2;
    }
    for (size_t i = 0; i < values_count; i++) values[i] = strtof(words[5 + i], NULL);

    const double policy[5] = {8, 0, 0, 4, 1e-5}; /* attribute, l1, l2, record, delta: over all campaigns, for life */
    ScumbleDevice *client = NULL;
    refuse(scumble_device_open(campaign, campaign_length, NULL, 0, signer, NULL, policy, state, state_length, &client), "open");
    const uint8_t *bytes;
    refuse(scumble_device_prepare(client, (const uint8_t *)"profile", 7, SCUMBLE_DEVICE_FLOAT, values, values_count, NULL, 0,
                                  strtoull(words[4], NULL, 10)), "prepare");
    refuse(scumble_device_state(client, &bytes, &length), "state");
    if (!write_file(words[3], bytes, length)) { /* stored first .. */
        fprintf(stderr, "%s: cannot be written; nothing was shown\n", words[3]);
        return 2;
    }
    refuse(scumble_device_commit(client, &bytes, &length), "commit"); /* .. then bytes */
    for (size_t i = 0; i < length; i++) printf("%02x", bytes[i]);
    printf("\n");

    scumble_device_close(client);
    memset(values, 0, values_count * sizeof *values);
    free(values);
    free(state);
    free(campaign);
    return 0;
}
