/* The vectors of packages/vectors.json, in the plain form that test/vectors-to-text writes, through the C ABI. Then
 * refusals, and markers: nothing that the library says may hold a value or a key. */
#include "../include/scumble_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEED(condition) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); exit(1); } } while (0)

/* One line: a length, a blank, so many bytes, a line end. */
static char *item(FILE *file, size_t *length) {
    unsigned long long size;
    NEED(fscanf(file, "%llu", &size) == 1 && fgetc(file) == ' ');
    char *bytes = malloc((size_t)size + 1);
    NEED(bytes && fread(bytes, 1, (size_t)size, file) == size && fgetc(file) == '\n');
    bytes[size] = 0;
    if (length) *length = (size_t)size;
    return bytes;
}

static uint8_t *unhex(const char *text, size_t *length) {
    *length = strlen(text) / 2;
    uint8_t *bytes = malloc(*length + 1);
    NEED(bytes);
    for (size_t i = 0; i < *length; i++) {
        unsigned byte;
        NEED(sscanf(text + 2 * i, "%2x", &byte) == 1);
        bytes[i] = (uint8_t)byte;
    }
    return bytes;
}

static void same(const uint8_t *bytes, size_t length, const char *expected) {
    size_t size;
    uint8_t *wanted = unhex(expected, &size);
    NEED(size == length && memcmp(bytes, wanted, size) == 0);
    free(wanted);
}

int main(int count, char **words) {
    NEED(count == 2 && scumble_device_abi() == 2);
    FILE *file = fopen(words[1], "rb");
    NEED(file);
    char *signer_text = item(file, NULL);
    size_t size, campaigns, vectors;
    uint8_t *signer = unhex(signer_text, &size);
    double policy[5];
    for (int i = 0; i < 5; i++) NEED(fscanf(file, "%lf", &policy[i]) == 1);
    NEED(fscanf(file, "%zu %zu\n", &campaigns, &vectors) == 2);
    char **texts = calloc(campaigns, sizeof *texts);
    size_t *lengths = calloc(campaigns, sizeof *lengths);
    uint8_t **files = calloc(campaigns, sizeof *files); /* NULL: the campaign names no public file */
    size_t *file_lengths = calloc(campaigns, sizeof *file_lengths);
    for (size_t i = 0; i < campaigns; i++) {
        texts[i] = item(file, &lengths[i]);
        char *hex = item(file, &size);
        if (size) files[i] = unhex(hex, &file_lengths[i]);
        free(hex);
    }
    for (size_t i = 0; i < vectors; i++) {
        size_t at, n, sparse, dim, state_length, slot_length, length;
        unsigned kind;
        unsigned long long now;
        NEED(fscanf(file, "%zu %u %zu %zu %zu %llu\n", &at, &kind, &n, &sparse, &dim, &now) == 6);
        char *slot = item(file, &slot_length), *state_text = item(file, NULL), *report = item(file, NULL), *next = item(file, NULL);
        uint8_t *state = unhex(state_text, &state_length);
        double *doubles = malloc(n * sizeof(double));
        void *values = malloc(n * 8);
        uint32_t *index = malloc((n + 1) * sizeof(uint32_t));
        for (size_t j = 0; j < n; j++) {
            NEED(fscanf(file, "%lf", &doubles[j]) == 1);
            if (kind == 0) ((float *)values)[j] = (float)doubles[j];
            if (kind == 1) ((double *)values)[j] = doubles[j];
            if (kind == 2) ((int16_t *)values)[j] = (int16_t)doubles[j];
            if (kind == 3) ((uint8_t *)values)[j] = (uint8_t)doubles[j];
        }
        for (size_t j = 0; j < n && sparse; j++) NEED(fscanf(file, "%u", &index[j]) == 1);
        fscanf(file, "\n");
        ScumbleDevice *client = NULL;
        const uint8_t *bytes;
        NEED(scumble_device_open((uint8_t *)texts[at], lengths[at], files[at], file_lengths[at], signer, NULL, policy, state, state_length, &client) == 0);
        NEED(scumble_device_prepare(client, (uint8_t *)slot, slot_length, kind, values, n, sparse ? index : NULL, dim, now) == 0);
        NEED(scumble_device_state(client, &bytes, &length) == 0);
        same(bytes, length, next);
        NEED(scumble_device_commit(client, &bytes, &length) == 0);
        same(bytes, length, report);
        scumble_device_close(client);
        free(slot), free(state_text), free(report), free(next), free(state), free(doubles), free(values), free(index);
    }
    fclose(file);

    /* Refusals, each with its code, and sentences without a value. */
    ScumbleDevice *client = NULL;
    uint8_t other[32] = {1}, damaged[64] = {2};
    const double none[5] = {0, 0, 0, 0, 0};
    const uint8_t *text = (uint8_t *)texts[0], *bytes;
    size_t length;
    NEED(scumble_device_open(text, lengths[0], NULL, 0, other, NULL, policy, NULL, 0, &client) == SCUMBLE_DEVICE_WRONG_SIGNER);
    NEED(scumble_device_open(text, lengths[0], NULL, 0, NULL, other, policy, NULL, 0, &client) == SCUMBLE_DEVICE_WRONG_DIGEST);
    NEED(scumble_device_open(text, lengths[0] - 9, NULL, 0, signer, NULL, policy, NULL, 0, &client) == SCUMBLE_DEVICE_BAD_SIGNATURE);
    NEED(scumble_device_open(text, lengths[0], other, 32, signer, NULL, policy, NULL, 0, &client) == SCUMBLE_DEVICE_WRONG_FILE);
    NEED(scumble_device_open(text, lengths[0], NULL, 0, signer, NULL, none, NULL, 0, &client) == SCUMBLE_DEVICE_ABOVE_POLICY);
    NEED(scumble_device_open(text, lengths[0], NULL, 0, signer, NULL, policy, damaged, 64, &client) == SCUMBLE_DEVICE_DAMAGED_STATE);
    NEED(scumble_device_open(text, lengths[0], NULL, 0, signer, NULL, policy, NULL, 0, &client) == 0); /* a new device */
    NEED(scumble_device_commit(client, &bytes, &length) == SCUMBLE_DEVICE_NOT_PREPARED);
    const float marker[2] = {0.12345678f, 0.12345678f};
    NEED(scumble_device_prepare(client, (uint8_t *)"marked", 6, 0, marker, 2, NULL, 0, 1800000000) == SCUMBLE_DEVICE_WRONG_DIMENSION);
    for (int32_t code = 0; code < 40; code++) {
        const char *sentence = scumble_device_message(code);
        NEED(!strstr(sentence, "0.1234") && !strstr(sentence, "marked") && strlen(sentence) < 120);
    }
    scumble_device_close(client);
    for (size_t i = 0; i < campaigns; i++) free(texts[i]), free(files[i]);
    free(texts), free(lengths), free(files), free(file_lengths), free(signer), free(signer_text);
    printf("%zu vectors\n", vectors);
    return 0;
}
