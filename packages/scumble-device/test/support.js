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
