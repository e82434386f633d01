// The package in Node: the module from the file beside, and storage in a file.

import { constants } from 'node:fs'
import { link, open, readdir, readFile, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Client as Any, Encoder as AnyEncoder, Refusal } from './client.js'
import { indexedDbStorage, memoryStorage, same } from './storage.js'

const compiled = {}

function module(name) {
  const address = new URL(`../wasm/${name}.wasm`, import.meta.url)
  compiled[name] ??= readFile(address).then((bytes) => WebAssembly.compile(bytes))
  return compiled[name]
}

export class Client extends Any {
  static async open(options) {
    return Any.open({ ...options, module: await (options.module ?? module('scumble_device')) })
  }
}

export class Encoder extends AnyEncoder {
  static async open(options) {
    return AnyEncoder.open({ ...options, module: await (options.module ?? module('scumble_encoder')) })
  }
}

/**
 * In files `PATH.1`, `PATH.2`, ..: each change is a new name, and a name can be made only once, so of two processes that
 * change one state at once one wins and the other tries again. Older files are removed. A crash leaves the last whole state.
 *
 * A change is written as `.PATH.NUMBER.PROCESS.x` first. There is no lock, so no two writers may have one such name. What a
 * crash has left of it holds the key: the next change removes it, before it writes anything.
 */
export function fileStorage(path) {
  const folder = dirname(path)
  const name = basename(path)
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const pattern = new RegExp(`^${literal}\\.(\\d+)$`)
  const unfinished = new RegExp(`^\\.${literal}\\.(\\d+)\\.(\\d+)\\.[0-9a-z]+$`)
  const file = (number) => join(folder, `${name}.${number}`)
  const numbers = async () => {
    const names = await readdir(folder)
    return names.map((entry) => Number(entry.match(pattern)?.[1] ?? 0)).filter((number) => number > 0).sort((a, b) => a - b)
  }
  const latest = async () => {
    for (;;) {
      const number = (await numbers()).at(-1) ?? 0
      if (number === 0) return { number, bytes: null }
      try {
        return { number, bytes: new Uint8Array(await readFile(file(number))) }
      } catch (error) {
        if (error.code !== 'ENOENT') throw error // removed meanwhile: there is a later one
      }
    }
  }
  /** Removes what no writer will finish: its number is taken, or its process has ended. */
  const sweep = async (taken) => {
    const left = (await readdir(folder)).filter((entry) => {
      const [, number, process_] = entry.match(unfinished) ?? []
      return number && (Number(number) <= taken || !runs(Number(process_)))
    })
    await Promise.all(left.map((entry) => unlink(join(folder, entry)).catch(() => {})))
  }
  return {
    read: async () => (await latest()).bytes,
    write: async (next, previous) => {
      const { number, bytes } = await latest()
      if (!same(bytes, previous)) return false
      await sweep(number)
      const temporary = join(folder, `.${name}.${number + 1}.${process.pid}.${Math.random().toString(36).slice(2)}`)
      try {
        await durable(temporary, next)
        await link(temporary, file(number + 1)) // fails when the name is there
        await sync(folder)
      } catch (error) {
        if (error.code === 'EEXIST' || error.code === 'ENOENT') return false // another took the number, or swept this away
        throw error
      } finally {
        await unlink(temporary).catch(() => {})
      }
      const all = await numbers()
      // The name was free because others were further on and had removed it: theirs holds.
      if (all.at(-1) !== number + 1) {
        await unlink(file(number + 1)).catch(() => {})
        return false
      }
      await Promise.all(all.slice(0, -1).map((old) => unlink(file(old)).catch(() => {})))
      await sweep(number + 1)
      return true
    },
  }
}

/** Whether there is such a process on this machine. */
function runs(id) {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM' // another person's
  }
}

/** A new file, readable by its owner only, on the disk when this returns. */
async function durable(path, bytes) {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL
  const handle = await open(path, flags, 0o600)
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function sync(folder) {
  const handle = await open(folder, constants.O_RDONLY).catch(() => null) // some systems open no folders
  await handle?.sync().catch(() => {})
  await handle?.close()
}

export { Refusal, indexedDbStorage, memoryStorage }
