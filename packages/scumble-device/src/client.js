// Prepare, store, commit, send, settle. What is stored is stored before any bytes are given out.

import { Abi, EncoderAbi, Refusal } from './abi.js'

/** Tries of a change when others write at the same time. */
const TRIES = 50

/** A device in one campaign. */
export class Client {
  #abi
  #client
  #storage
  #token
  #beta
  #queue = Promise.resolve()

  /**
   * Checks the campaign, and takes up the stored state or makes a new device.
   * @param {import('./index.js').Options} options
   */
  static async open({ campaign, file, signer, digest, policy, storage, token, module, entropy }) {
    if (typeof storage?.read !== 'function' || typeof storage?.write !== 'function') {
      throw new TypeError('storage must have read() and write(next, previous)')
    }
    const abi = await Abi.load(module, entropy)
    const client = new Client()
    client.#abi = abi
    client.#storage = storage
    client.#token = bearer(token)
    const text = typeof campaign === 'string' ? new TextEncoder().encode(campaign) : campaign
    client.#client = abi.open(text, file ?? null, key(signer), key(digest), limits(policy), await storage.read())
    client.#beta = JSON.parse(new TextDecoder().decode(text)).parameters.beta // the noise was derived for this
    return client
  }

  /** What the person should read: first a line of this client's own, then the campaign's words as they were signed. */
  get statement() {
    return `${computed(this.budget, this.#beta)}\n${this.#abi.text(this.#client, 'statement')}`
  }

  /** Where reports go. */
  get collector() {
    return this.#abi.text(this.#client, 'collector')
  }

  /** The campaign's name: 64 hexadecimal digits. */
  get digest() {
    return hex(this.#abi.digest(this.#client))
  }

  /** What the encoding-only module needs: the campaign's name and the integers of its law, checked here. */
  plan() {
    return this.#abi.plan(this.#client)
  }

  /**
   * Unit, loss of one content, what this device has spent in that unit and the most that it may; as this client last read
   * the storage. Where others share it, `refresh` first.
   */
  get budget() {
    return this.#abi.numbers(this.#client)
  }

  /** How often the state has changed: keep it elsewhere to notice a restored backup. */
  get generation() {
    return this.#abi.generation(this.#client)
  }

  /** Reports that are charged and wait to be sent, likewise as last read. */
  get pending() {
    return this.#abi.pending(this.#client)
  }

  /** Reads the storage again, in case another client has written; gives the budget. `report` and `send` do it by themselves. */
  refresh() {
    return this.#next(async () => {
      this.#abi.reload(this.#client, await this.#storage.read())
      return this.budget
    })
  }

  /**
   * Charges and stores, then gives the report; null when there is nothing to send.
   * The same vector in the same period gives the same bytes.
   */
  report(slot, vector, { now = seconds() } = {}) {
    const given = numbers(vector)
    return this.#change(() => this.#abi.prepare(this.#client, slot, given, now))
  }

  /**
   * Sends what waits, each report by itself, in random order. What the collector's receipt says it has, or will never take,
   * is settled; after any other answer the report waits on.
   */
  async send(fetch = globalThis.fetch, { token } = {}) {
    const outcome = { sent: 0, refused: 0, waiting: 0 }
    const url = `${checked(this.collector).replace(/\/+$/, '')}/v1/campaigns/${this.digest}/reports`
    const headers = { 'content-type': 'application/octet-stream' }
    const given = bearer(token) ?? this.#token
    if (given) headers.authorization = `Bearer ${given}`
    await this.refresh()
    for (const report of shuffled(this.pending)) {
      const answer = await post(fetch, url, report, headers)
      outcome[answer] += 1
      if (answer !== 'waiting') await this.#change(() => this.#abi.settle(this.#client, report))
    }
    return outcome
  }

  /** Ends the client and wipes its memory. */
  close() {
    if (this.#client) this.#abi.close(this.#client)
    this.#client = 0
  }

  /** One change after the other in this client; against other clients, storage compares before it writes. */
  #change(prepare) {
    return this.#next(() => this.#transact(prepare))
  }

  #next(run) {
    const next = this.#queue.then(run)
    this.#queue = next.catch(() => {})
    return next
  }

  async #transact(prepare) {
    for (let attempt = 0; attempt < TRIES; attempt += 1) {
      const previous = await this.#storage.read()
      this.#abi.reload(this.#client, previous)
      prepare()
      let stored = false
      try {
        stored = await this.#storage.write(this.#abi.state(this.#client), previous)
      } finally {
        if (!stored) this.#abi.abandon(this.#client)
      }
      if (stored) {
        const report = this.#abi.commit(this.#client)
        return report.length === 0 ? null : report
      }
    }
    throw new Error('the state could not be stored: another client writes all the time')
  }
}

/** What became of a report. Only a receipt settles it: whatever else answered need not be the collector. */
async function post(fetch, url, body, headers) {
  try {
    const response = await fetch(url, {
      method: 'POST', body, headers,
      credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store', redirect: 'error',
    })
    return response.status === 200 && !response.redirected ? fate(await response.json()) : 'waiting'
  } catch {
    return 'waiting' // not sent, no receipt, or the answer was lost: the same bytes again later
  }
}

/** What a receipt says of the one report that was sent. */
function fate(receipt) {
  const { accepted, duplicate, rejected } = receipt
  if (!Number.isInteger(accepted) || !Number.isInteger(duplicate) || !Array.isArray(rejected)) return 'waiting'
  if (accepted + duplicate === 1 && rejected.length === 0) return 'sent'
  if (accepted !== 0 || duplicate !== 0 || rejected.length !== 1) return 'waiting'
  const [{ report, reason }] = rejected
  // A period that is unknown has not begun by the collector's clock: it will.
  return report === 0 && typeof reason === 'string' && reason !== 'period-unknown' ? 'refused' : 'waiting'
}

/** What the module has computed, in words. Those of the campaign are the signer's: a device cannot derive them again. */
function computed({ unit, epsilon, delta }, beta) {
  const most = six(beta, false)
  const change = {
    attribute: `one attribute that changes by at most ${most}`, l1: `changes that add up to at most ${most}`,
    l2: `a change of at most ${most} in Euclidean distance`, record: 'the whole vector',
  }[unit]
  const loss = delta > 0 ? `epsilon ${six(epsilon, true)} and delta ${six(delta, true)}` : `epsilon ${six(epsilon, true)}`
  return `Computed on this device: one report costs ${loss} for ${change}.`
}

/** A positive number in at most six digits: a loss is rounded up, what it covers down. As in Python. A part in 10^8 is the
 * client's own rounding. */
export function six(number, up) {
  let [digits, power] = number.toExponential(5).split('e').map(Number)
  const near = Number(`${digits}e${power}`)
  if (Math.abs(near - number) > 1e-8 * number && (up ? near < number : near > number)) digits = (Math.round(digits * 1e5) + (up ? 1 : -1)) / 1e5
  const rounded = Number(`${digits}e${power}`)
  return rounded >= 1e-4 && rounded < 1e6 ? String(rounded) : rounded.toExponential().replace('+', '')
}

/** An address that others on the way cannot read, or one of this machine: what a campaign may name. */
function checked(address) {
  const start = /^(https:\/\/[^/]|http:\/\/(127\.0\.0\.1|localhost|\[::1\])([:/]|$))/
  if (start.test(address) && !/[^!-~]|[?#"\\@]/.test(address)) return address
  throw new Error('the collector is neither at https: nor on this machine: nothing is sent')
}

/** A token as a header takes it; null for none. */
function bearer(token) {
  if (token === undefined || token === null) return null
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return token
  throw new TypeError('a token is printable ASCII without blanks')
}

/**
 * Writes reports by a plan that was checked elsewhere. It checks no signature, derives no law, charges nothing and stores
 * nothing: all that is the host's. The bytes are those of `Client` for the same key, slot, vector and period.
 */
export class Encoder {
  #abi
  #encoder

  /** @param {import('./index.js').EncoderOptions} options */
  static async open({ plan, key: secret, module }) {
    if (!(plan instanceof Uint8Array)) throw new TypeError('plan must be the bytes of client.plan()')
    const encoder = new Encoder()
    encoder.#abi = await EncoderAbi.load(module)
    encoder.#encoder = encoder.#abi.open(plan, key(secret))
    return encoder
  }

  /** The report of a vector for a period, counted from 0. */
  report(slot, vector, period) {
    return this.#abi.report(this.#encoder, slot, numbers(vector), period)
  }

  /** Ends the encoder and wipes its key. */
  close() {
    this.#abi.close(this.#encoder)
  }
}

/** The vector as one of the four kinds of numbers that the module takes. */
function numbers(vector) {
  const typed = (values) => {
    if (values instanceof Float32Array || values instanceof Float64Array) return values
    if (values instanceof Int16Array || values instanceof Uint8Array) return values
    const doubles = Float64Array.from(values)
    return doubles
  }
  if (vector && !ArrayBuffer.isView(vector) && !Array.isArray(vector) && 'index' in vector) {
    return sparse(typed(vector.values), Uint32Array.from(vector.index, attribute), vector.dim)
  }
  return { values: typed(vector), index: null, dim: vector.length }
}

/** The module reads as many attributes as values, and a dimension of 32 bits: anything else has dimension 0, which it refuses. */
function sparse(values, index, dim) {
  if (index.length !== values.length) return { values, index: new Uint32Array(values.length), dim: 0 }
  return { values, index, dim: Number.isInteger(dim) && dim < 2 ** 32 ? dim : 0 }
}

/** An attribute, counted from 0; what is none becomes the last of 32 bits, which the module refuses. */
function attribute(given) {
  return Number.isInteger(given) && given >= 0 && given < 2 ** 32 ? given : 2 ** 32 - 1
}

function limits(policy = {}) {
  const { attribute = 0, l1 = 0, l2 = 0, record = 0, delta = 1e-5 } = policy
  return Float64Array.of(attribute, l1, l2, record, delta)
}

/** 32 bytes, from bytes, from 64 hexadecimal digits, or from the line of a public key file. */
function key(given) {
  if (given === undefined || given === null) return null
  if (given instanceof Uint8Array && given.length === 32) return given
  const digits = typeof given === 'string' ? given.trim().match(/(?:^|\s)([0-9a-f]{64})$/)?.[1] : undefined
  if (!digits) throw new TypeError('a key or digest is 32 bytes or 64 lower-case hexadecimal digits')
  return Uint8Array.from(digits.match(/../g), (pair) => Number.parseInt(pair, 16))
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function shuffled(items) {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = Math.floor(Math.random() * (at + 1)) // only the order of requests: no secret
    ;[items[at], items[other]] = [items[other], items[at]]
  }
  return items
}

function seconds() {
  return Math.floor(Date.now() / 1000)
}

export { Refusal }
