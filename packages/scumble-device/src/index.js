// The package in a browser. The module is fetched from beside this file unless one is given.

import { Client as Any, Refusal } from './client.js'
import { indexedDbStorage, memoryStorage } from './storage.js'

let compiled

/** The module, compiled once for all clients of a page. */
function module() {
  const address = new URL('../wasm/scumble_device.wasm', import.meta.url)
  compiled ??= fetch(address).then(async (response) => {
    if (!response.ok) throw new Error(`${address.pathname}: ${response.status}`)
    return WebAssembly.compile(await response.arrayBuffer())
  })
  return compiled
}

export class Client extends Any {
  static async open(options) {
    const storage = options.storage ?? indexedDbStorage()
    return Any.open({ ...options, storage, module: await (options.module ?? module()) })
  }
}

export { Refusal, indexedDbStorage, memoryStorage }
