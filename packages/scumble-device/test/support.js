// What tests of the package share; runs in Node and in a page.

export function bytes(hex) {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

export function hex(array) {
  return Array.from(array, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Storage that begins with this state. */
export function once(stored) {
  return {
    stored,
    read() { return Promise.resolve(this.stored) },
    write(next) { this.stored = next; return Promise.resolve(true) },
  }
}

const KINDS = { f32: Float32Array, f64: Float64Array, i16: Int16Array, u8: Uint8Array }

/** The vector of an entry of vectors.json. */
export function given({ kind, values, index, dim }) {
  const typed = KINDS[kind].from(values)
  return index ? { dim, index: Uint32Array.from(index), values: typed } : typed
}

/** How long a client takes to open, and to report 384 floats as 256 bits, in words. */
export async function speed(Client, { signer, policy: [attribute, l1, l2, record, delta], campaigns, vectors }) {
  const one = vectors.find(({ campaign, kind }) => campaigns[campaign].includes('"dim": 384,\n    "k": 256') && kind === 'f32')
  const policy = { attribute, l1, l2, record, delta }
  const began = performance.now()
  const client = await Client.open({ campaign: campaigns[one.campaign], signer, policy, storage: once(bytes(one.state)) })
  const opened = performance.now() - began
  const times = []
  for (let at = 0; at < 51; at += 1) {
    const start = performance.now()
    await client.report(one.slot, given(one), { now: one.now })
    times.push(performance.now() - start)
  }
  client.close()
  times.sort((a, b) => a - b)
  return `opened in ${opened.toFixed(1)} ms, 384 floats reported as 256 bits in ${times[25].toFixed(2)} ms`
}
