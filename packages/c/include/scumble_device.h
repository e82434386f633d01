/* scumble_device.h: private reports from a person's own device. Written by packages/c/make-header; do not edit.
 *
 * Ownership, one rule for all: a pointer that goes in is read during the call and not kept; a pointer that comes
 * out points into the client and is valid until the next call with that client. A client is made by
 * `scumble_device_open` and closed by `scumble_device_close`, which wipes it. A client must not be used by two
 * threads at once.  Every function that can refuse returns a code: 0 means done, the others are those below.
 */
#ifndef SCUMBLE_DEVICE_H
#define SCUMBLE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A client; its inside is its own. */
typedef struct ScumbleDevice ScumbleDevice;

/* Codes that functions return. */
enum {
    SCUMBLE_DEVICE_DONE = 0,
    SCUMBLE_DEVICE_NOT_A_CAMPAIGN = 1, /* This is not a campaign that this version can read. */
    SCUMBLE_DEVICE_BAD_SIGNATURE = 2, /* The campaign's signature does not hold: it was altered, or never signed. */
    SCUMBLE_DEVICE_WRONG_SIGNER = 3, /* The campaign was signed by another key than the one this application trusts. */
    SCUMBLE_DEVICE_WRONG_DIGEST = 4, /* This is another campaign than the one this application has pinned. */
    SCUMBLE_DEVICE_NOT_DERIVED = 5, /* The campaign's numbers are not what its parameters give. */
    SCUMBLE_DEVICE_NOT_PRIVATE = 6, /* The campaign's mechanism gives no guarantee that a device may rely on. */
    SCUMBLE_DEVICE_ABOVE_POLICY = 7, /* One report of this campaign would cost more than this device's policy allows. */
    SCUMBLE_DEVICE_BUDGET_SPENT = 8, /* This device has spent its privacy budget for this unit. */
    SCUMBLE_DEVICE_CONTENTS_SPENT = 9, /* This slot has reported as many different vectors as the campaign allows. */
    SCUMBLE_DEVICE_DAMAGED_STATE = 10, /* The stored state is damaged; it is neither used nor replaced. */
    SCUMBLE_DEVICE_ROLLED_BACK_STATE = 11, /* The stored state is older than one that this client has seen. */
    SCUMBLE_DEVICE_NO_ENTROPY = 12, /* The host gave no entropy: no key can be made. */
    SCUMBLE_DEVICE_NOT_FINITE = 13, /* The vector has a value that is not a finite number. */
    SCUMBLE_DEVICE_WRONG_DIMENSION = 14, /* The vector has another length than the campaign asks for. */
    SCUMBLE_DEVICE_WRONG_INDEX = 15, /* The sparse vector's indices must rise strictly and lie inside the dimension. */
    SCUMBLE_DEVICE_CLOSED_PERIOD = 16, /* The campaign takes no reports at this time. */
    SCUMBLE_DEVICE_BAD_SLOT = 17, /* A slot needs a name of 1 to 64 bytes in UTF-8. */
    SCUMBLE_DEVICE_BAD_POLICY = 18, /* A policy needs limits that are finite and not negative. */
    SCUMBLE_DEVICE_BAD_ARGUMENT = 19, /* A pointer is missing, a kind of number is unknown, or neither signer nor digest was given. */
    SCUMBLE_DEVICE_NOT_PREPARED = 20, /* There is nothing to commit: prepare comes first. */
    SCUMBLE_DEVICE_NOT_COMMITTED = 21, /* The last prepare was neither committed nor abandoned. */
    SCUMBLE_DEVICE_TOO_MANY_PENDING = 22, /* Too many reports wait to be sent. */
    SCUMBLE_DEVICE_INTERNAL = 23, /* The client failed inside; nothing was shown. */
    SCUMBLE_DEVICE_NOT_A_PLAN = 24, /* This is not a plan that this version can read. */
    SCUMBLE_DEVICE_NO_PLAN = 25, /* The encoding-only module does not have this campaign's mechanism. */
    SCUMBLE_DEVICE_NO_FILE = 26, /* The campaign names a public file, and none was given. */
    SCUMBLE_DEVICE_WRONG_FILE = 27, /* The public file is not the one that the campaign names. */
};

/* Kinds of numbers. */
enum { SCUMBLE_DEVICE_FLOAT = 0, SCUMBLE_DEVICE_DOUBLE = 1, SCUMBLE_DEVICE_INT16 = 2, SCUMBLE_DEVICE_UINT8 = 3 };

/*
 * The sentence of a code: static, ends in a zero byte, holds nothing private.
 */
const char *scumble_device_message(int32_t code);

/*
 * Room for `length` bytes, for hosts that have no memory of their own to share (WASM). Null when there is none.
 */
uint8_t *scumble_device_alloc(size_t length);

/*
 * Wipes and gives back what `scumble_device_alloc` gave, of the same length.
 */
void scumble_device_free(uint8_t *pointer, size_t length);

/*
 * Version of this ABI. A change of meaning gets a new number.
 */
uint32_t scumble_device_abi(void);

/*
 * Opens a client: checks the campaign's signature and numbers, the policy, and the stored state.
 * `campaign`: the campaign's text. `file`: the public file that it names (bins, components or a book), or NULL when
 * it names none. `signer`: 32 bytes of the ed25519 key that must have signed, or NULL. `digest`: 32 bytes of the
 * campaign's name, or NULL; at least one of the two is needed. `policy`: five doubles: the most epsilon for
 * attribute, l1, l2 and record, and the most delta. `state`: what was stored last, or NULL on a new device.
 * `client`: receives the client.
 */
int32_t scumble_device_open(const uint8_t *campaign, size_t campaign_length, const uint8_t *file, size_t file_length, const uint8_t *signer, const uint8_t *digest, const double *policy, const uint8_t *state, size_t state_length, ScumbleDevice **client);

/*
 * Closes a client and wipes it. Null is fine.
 */
void scumble_device_close(ScumbleDevice *client);

/*
 * Loads the state that is stored now; NULL when nothing is stored. A change that was prepared is abandoned.
 */
int32_t scumble_device_reload(ScumbleDevice *client, const uint8_t *state, size_t state_length);

/*
 * Prepares the report of a vector. Then: store what `scumble_device_state` gives, and call `scumble_device_commit`.
 * `slot`: a name in UTF-8. `kind` of `values`: 0 float, 1 double, 2 int16_t, 3 uint8_t. `index`: NULL for a dense
 * vector of `count` values; else `count` attributes, strictly increasing, of a vector of `dim`. `now`: seconds
 * since 1970.
 */
int32_t scumble_device_prepare(ScumbleDevice *client, const uint8_t *slot, size_t slot_length, uint32_t kind, const void *values, size_t count, const uint32_t *index, size_t dim, uint64_t now);

/*
 * The state to store: that of the prepared change, else the last one.
 */
int32_t scumble_device_state(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * The prepared state is stored: it takes effect, and here is the report. Length 0: there is nothing to send.
 */
int32_t scumble_device_commit(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * The prepared state was not stored: it is discarded.
 */
int32_t scumble_device_abandon(ScumbleDevice *client);

/*
 * A stored report of this campaign that waits to be sent, counted from 0. Length 0: there are no more.
 */
int32_t scumble_device_pending(ScumbleDevice *client, size_t at, const uint8_t **bytes, size_t *length);

/*
 * Prepares to forget a report that the collector has, or will never take. Then store and commit as above.
 */
int32_t scumble_device_settle(ScumbleDevice *client, const uint8_t *report, size_t report_length);

/*
 * What the person should read, in UTF-8 without a zero byte.
 */
int32_t scumble_device_statement(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * Where reports go: the collector's address, in UTF-8 without a zero byte.
 */
int32_t scumble_device_collector(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * The campaign's name: 32 bytes.
 */
int32_t scumble_device_digest(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * Numbers: `numbers` receives 8 doubles: unit (0 attribute, 1 l1, 2 l2, 3 record), bytes per report, epsilon and
 * delta of one content, epsilon and delta that this device has spent in that unit, and the most that it may spend.
 */
int32_t scumble_device_numbers(ScumbleDevice *client, double *numbers);

/*
 * The plan for the encoding-only module: the campaign's name and the integers of its law, all checked here. Refused
 * for mechanisms other than bits and symbols of OPORP.
 */
int32_t scumble_device_plan(ScumbleDevice *client, const uint8_t **bytes, size_t *length);

/*
 * How often the state has changed. A host that keeps this number elsewhere notices a restored backup.
 */
uint64_t scumble_device_generation(const ScumbleDevice *client);

#ifdef __cplusplus
}
#endif

#endif
