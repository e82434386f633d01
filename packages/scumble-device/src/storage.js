// Where a state is kept. Storage has two functions: `read()` gives what is stored, or null; `write(next, previous)` stores
// `next` only if `previous` is what is stored, all at once and durably, and says whether it did. That comparison is what
// keeps two tabs from spending the same budget twice.

/** Bytes that are equal, null included. */
export function same(a, b) {
  if (a === null || b === null) return a === b
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

/** Nothing is kept: for tests and demonstrations. A page that loads again is a new device. */
export function memoryStorage() {
  let stored = null
  return {
    read: async () => stored,
    write: async (next, previous) => {
      if (!same(stored, previous)) return false
      stored = next
      return true
    },
  }
}

/** In the browser's IndexedDB: one transaction reads, compares and writes. */
export function indexedDbStorage(name = 'scumble-device') {
  const open = () => new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore('state')
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
  /** Runs in one transaction; gives what `run` has put into `out.value` once the transaction is durable. */
  const transact = async (mode, run) => {
    const database = await open()
    try {
      return await new Promise((resolve, reject) => {
        const transaction = database.transaction('state', mode, { durability: 'strict' })
        const out = {}
        transaction.oncomplete = () => resolve(out.value)
        transaction.onerror = transaction.onabort = () => reject(transaction.error)
        run(transaction.objectStore('state'), out)
      })
    } finally {
      database.close()
    }
  }
  const get = (store, then) => {
    const request = store.get('device')
    request.onsuccess = () => then(request.result ?? null)
  }
  return {
    read: () => transact('readonly', (store, out) => get(store, (stored) => { out.value = stored })),
    write: (next, previous) => transact('readwrite', (store, out) => get(store, (stored) => {
      out.value = same(stored, previous)
      if (out.value) store.put(next, 'device')
    })),
  }
}
