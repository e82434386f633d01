// The package in a browser. The module is fetched from beside this file unless one is given.

import { Client as Any, Encoder as AnyEncoder, Refusal } from './client.js'
import { indexedDbStorage, memoryStorage } from './storage.js'

const compiled = {}

/** A module, compiled once for all clients of a page. */
function module(name) {
  const address = new URL(`../wasm/${name}.wasm`, import.meta.url)
  compiled[name] ??= fetch(address).then(async (response) => {
    if (!response.ok) throw new Error(`${address.pathname}: ${response.status}`)
    return WebAssembly.compile(await response.arrayBuffer())
  })
  return compiled[name]
}

export class Client extends Any {
  static async open(options) {
    const storage = options.storage ?? indexedDbStorage()
    return Any.open({ ...options, storage, module: await (options.module ?? module('scumble_device')) })
  }
}

export class Encoder extends AnyEncoder {
  static async open(options) {
    return AnyEncoder.open({ ...options, module: await (options.module ?? module('scumble_encoder')) })
  }
}

export { Refusal, indexedDbStorage, memoryStorage }
