// The C ABI of the module, seen from JavaScript: memory in, memory out, codes. No logic of its own.

/** A refusal: `code` and `message` are fixed, and hold nothing private. */
export class Refusal extends Error {
  constructor(code, message) {
    super(message)
    this.name = 'Refusal'
    this.code = code
  }
}

const KINDS = [Float32Array, Float64Array, Int16Array, Uint8Array]
const NAMES = ['attribute', 'l1', 'l2', 'record']

/** Bytes, whatever holds them. Anything else would be read as zeros. */
function view(bytes) {
  if (bytes instanceof ArrayBuffer) return new Uint8Array(bytes)
  if (!ArrayBuffer.isView(bytes)) throw new TypeError('bytes are an ArrayBuffer or a view of one')
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** An instance's memory and codes: what both modules share. */
class Instance {
  /** Set once, by `load`. */
  exports

  /** Calls with these byte arrays in the module's memory, and wipes them there afterwards. */
  with(given, call) {
    const inputs = given.map((bytes) => bytes === null ? null : view(bytes))
    const { memory, scumble_device_alloc: alloc, scumble_device_free: free } = this.exports
    const pointers = []
    try {
      for (const bytes of inputs) {
        const pointer = bytes === null ? 0 : alloc(bytes.byteLength)
        if (bytes !== null && pointer === 0) throw new RangeError('the module has no memory left')
        pointers.push(pointer)
        if (bytes !== null) new Uint8Array(memory.buffer, pointer, bytes.byteLength).set(bytes)
      }
      return call(...pointers)
    } finally {
      pointers.forEach((pointer, at) => pointer && free(pointer, inputs[at].byteLength))
    }
  }

  check(code) {
    if (code === 0) return
    const { memory, scumble_device_message: message } = this.exports
    const start = message(code)
    const bytes = new Uint8Array(memory.buffer, start)
    throw new Refusal(code, new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0))))
  }

  /** A call that gives out bytes: copied, since the module's memory moves on. */
  bytes(call) {
    return this.with([new Uint8Array(8)], (out) => {
      this.check(call(out, out + 4))
      const [pointer, length] = new Uint32Array(this.exports.memory.buffer, out, 2)
      return new Uint8Array(this.exports.memory.buffer, pointer, length).slice()
    })
  }
}

/** The module, instantiated with the host's entropy as its one import. */
export class Abi extends Instance {
  static async load(source, entropy = (bytes) => globalThis.crypto.getRandomValues(bytes)) {
    const abi = new Abi()
    const imports = { scumble: { entropy: (pointer, length) => abi.#entropy(entropy, pointer, length) } }
    const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await source)
    abi.exports = (await WebAssembly.instantiate(module, imports)).exports
    return abi
  }

  #entropy(source, pointer, length) {
    try {
      for (let at = 0; at < length; at += 65536) {
        source(new Uint8Array(this.exports.memory.buffer, pointer + at, Math.min(65536, length - at)))
      }
      return 0
    } catch {
      return 1 // no fallback: the client refuses
    }
  }

  open(campaign, file, signer, digest, policy, state) {
    const inputs = [campaign, file, signer, digest, policy, state, new Uint8Array(4)]
    return this.with(inputs, (text, public_, key, name, limits, stored, out) => {
      const { scumble_device_open: open, memory } = this.exports
      const [textLength, fileLength, storedLength] = [campaign, file, state].map((bytes) => bytes?.byteLength ?? 0)
      this.check(open(text, textLength, public_, fileLength, key, name, limits, stored, storedLength, out))
      return new Uint32Array(memory.buffer, out, 1)[0]
    })
  }

  close(client) {
    this.exports.scumble_device_close(client)
  }

  reload(client, state) {
    const { scumble_device_reload: reload } = this.exports
    this.with([state], (stored) => this.check(reload(client, stored, state?.byteLength ?? 0)))
  }

  prepare(client, slot, { values, index, dim }, now) {
    const kind = KINDS.findIndex((kind) => values instanceof kind)
    const name = new TextEncoder().encode(slot)
    this.with([name, values, index], (slotAt, valuesAt, indexAt) => {
      const { scumble_device_prepare: prepare } = this.exports
      this.check(prepare(client, slotAt, name.byteLength, kind, valuesAt, values.length, indexAt, dim, BigInt(now)))
    })
  }

  settle(client, report) {
    const { scumble_device_settle: settle } = this.exports
    this.with([report], (at) => this.check(settle(client, at, report.byteLength)))
  }

  abandon(client) {
    this.check(this.exports.scumble_device_abandon(client))
  }

  state(client) {
    return this.bytes((at, length) => this.exports.scumble_device_state(client, at, length))
  }

  commit(client) {
    return this.bytes((at, length) => this.exports.scumble_device_commit(client, at, length))
  }

  pending(client) {
    const reports = []
    for (;;) {
      const report = this.bytes((at, length) => this.exports.scumble_device_pending(client, reports.length, at, length))
      if (report.length === 0) return reports
      reports.push(report)
    }
  }

  text(client, what) {
    const call = this.exports[`scumble_device_${what}`]
    return new TextDecoder().decode(this.bytes((at, length) => call(client, at, length)))
  }

  plan(client) {
    return this.bytes((at, length) => this.exports.scumble_device_plan(client, at, length))
  }

  digest(client) {
    return this.bytes((at, length) => this.exports.scumble_device_digest(client, at, length))
  }

  numbers(client) {
    const bytes = new Float64Array(8)
    return this.with([bytes], (at) => {
      this.check(this.exports.scumble_device_numbers(client, at))
      const [unit, length, epsilon, delta, spent, spentDelta, limit, limitDelta] =
        new Float64Array(this.exports.memory.buffer, at, 8)
      return {
        unit: NAMES[unit], reportLength: length, epsilon, delta,
        spent: { epsilon: spent, delta: spentDelta }, limit: { epsilon: limit, delta: limitDelta },
      }
    })
  }

  generation(client) {
    return Number(this.exports.scumble_device_generation(client))
  }
}

/** The encoding-only module. It has no import: the host brings the key. */
export class EncoderAbi extends Instance {
  static async load(source) {
    const abi = new EncoderAbi()
    const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(await source)
    abi.exports = (await WebAssembly.instantiate(module, {})).exports
    return abi
  }

  open(plan, key) {
    return this.with([plan, key, new Uint8Array(4)], (planAt, keyAt, out) => {
      this.check(this.exports.scumble_encoder_open(planAt, plan.byteLength, keyAt, out))
      return new Uint32Array(this.exports.memory.buffer, out, 1)[0]
    })
  }

  close(encoder) {
    this.exports.scumble_encoder_close(encoder)
  }

  report(encoder, slot, { values, index, dim }, period) {
    const kind = KINDS.findIndex((kind) => values instanceof kind)
    const name = new TextEncoder().encode(slot)
    return this.with([name, values, index], (slotAt, valuesAt, indexAt) => this.bytes((at, length) => {
      const { scumble_encoder_report: report } = this.exports
      return report(encoder, slotAt, name.byteLength, kind, valuesAt, values.length, indexAt, dim, period, at, length)
    }))
  }
}
