// Refusals, storage, concurrent clients, sending, and nothing private in what is thrown or logged.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client, Refusal, fileStorage, memoryStorage } from '../src/node.js'
import { six } from '../src/client.js'
import { hex } from './support.js'

const { signer, campaigns } = JSON.parse(await readFile(new URL('../../vectors.json', import.meta.url)))
// One bit for each of 16 bins of 40 attributes, epsilon 2, at most 4 contents for a slot.
const campaign = campaigns.find((text) => text.includes('"dp-signoporp-ceil"') && text.includes('"dim": 40'))
const START = 1_800_000_000
const DAY = 86_400
const policy = { attribute: 6 }
const open = (options = {}) => Client.open({ campaign, signer, policy, storage: memoryStorage(), ...options })
const vector = (seed) => Float32Array.from({ length: 40 }, (_, at) => ((at * 37 + seed * 11) % 64) / 64)
const receipt = (fields, status = 200) => new Response(JSON.stringify({ accepted: 0, duplicate: 0, rejected: [], ...fields }), { status })
const refuses = (promise, code) => assert.rejects(promise, (error) => error instanceof Refusal && error.code === code)

test('refusals have their codes', async () => {
  await refuses(open({ signer: '00'.repeat(32) }), 3)
  await refuses(open({ signer: undefined }), 19)
  await refuses(open({ signer: undefined, digest: '00'.repeat(32) }), 4)
  await refuses(open({ campaign: campaign.replace('"topics"', '"topic"').replace('"k": 16', '"k": 17') }), 2)
  await refuses(open({ campaign: 'no campaign' }), 2)
  await refuses(open({ policy: { attribute: 1.9 } }), 7)
  await refuses(open({ policy: { record: 99 } }), 7)
  await refuses(open({ policy: { attribute: Number.NaN } }), 18)
  await refuses(open({ entropy: () => { throw new Error('none') } }), 12)
  await refuses(open({ entropy: () => {} }), 12) // answers, but fills nothing
  await assert.rejects(open({ storage: {} }), TypeError)
  await assert.rejects(open({ signer: 'abc' }), TypeError)
  const client = await open()
  await refuses(client.report('a', vector(1).fill(Number.NaN), { now: START }), 13)
  await refuses(client.report('a', vector(1).subarray(1), { now: START }), 14)
  await refuses(client.report('a', { dim: 40, index: [3, 3], values: [1, 1] }, { now: START }), 15)
  for (const index of [[-1], [2 ** 32 + 3], [1.7], [Number.NaN]]) {
    await refuses(client.report('a', { dim: 40, index, values: [1] }, { now: START }), 15)
  }
  for (const wrong of [{ index: [1, 2] }, { values: [1, 1] }, { dim: 2 ** 32 + 40 }, { dim: 40.5 }]) {
    await refuses(client.report('a', { dim: 40, index: [1], values: [1], ...wrong }, { now: START }), 14)
  }
  await refuses(client.report('a', vector(1), { now: START - 1 }), 16)
  await refuses(client.report('', vector(1), { now: START }), 17)
  await refuses(client.report('a'.repeat(65), vector(1), { now: START }), 17)
  for (const seed of [1, 2, 3]) await client.report('a', vector(seed), { now: START })
  await refuses(client.report('a', vector(4), { now: START }), 8)
  assert.deepEqual(client.budget.spent, { epsilon: 6, delta: 0 })
  assert.equal((await open({ policy: { attribute: 99 } })).budget.unit, 'attribute')
})

test('bytes may be an ArrayBuffer, as fetch gives them, and nothing else is taken for bytes', async () => {
  const text = new TextEncoder().encode(campaign)
  assert.equal((await open({ campaign: text.buffer })).digest, (await open()).digest)
  await refuses(open({ file: text.buffer }), 27)
  for (const file of ['bins', 5, [1, 2]]) await assert.rejects(open({ file }), TypeError)
})

test('damaged and rolled-back states are refused', async () => {
  const storage = memoryStorage()
  const client = await open({ storage })
  await client.report('a', vector(1), { now: START })
  const old = await storage.read()
  await client.report('a', vector(2), { now: START })
  await storage.write(old, await storage.read())
  await refuses(client.report('a', vector(3), { now: START }), 11)
  const damaged = old.slice()
  damaged[50] ^= 1
  await storage.write(damaged, old)
  await refuses(client.report('a', vector(3), { now: START }), 10)
  await refuses(open({ storage }), 10)
})

test('the same vector is the same report; after sending there is nothing more to send', async () => {
  const storage = memoryStorage()
  const client = await open({ storage })
  const report = await client.report('a', vector(1), { now: START })
  assert.deepEqual(await client.report('a', vector(1), { now: START + 5 }), report)
  // The page is closed before anything was sent: the report waits in the state.
  const again = await open({ storage })
  assert.deepEqual(again.pending, [report])
  const asked = []
  const answer = (status) => async (url, { body }) => { asked.push([url, hex(body)]); return receipt({ accepted: 1 }, status) }
  assert.deepEqual(await again.send(answer(503)), { sent: 0, refused: 0, waiting: 1 })
  assert.deepEqual(await again.send(async () => { throw new TypeError('offline') }), { sent: 0, refused: 0, waiting: 1 })
  assert.deepEqual(await again.send(answer(200)), { sent: 1, refused: 0, waiting: 0 })
  assert.deepEqual(await again.send(answer(200)), { sent: 0, refused: 0, waiting: 0 })
  assert.equal(new Set(asked.map(String)).size, 1)
  assert.equal(asked[0][0], `http://127.0.0.1:8080/v1/campaigns/${again.digest}/reports`)
  assert.equal(await again.report('a', vector(1), { now: START }), null)
  assert.equal(await again.report('a', vector(1), { now: START + DAY }), null)
})

test('only a receipt settles a report', async () => {
  const rejected = (reason) => receipt({ rejected: [{ report: 0, reason }] })
  const page = (status, text = '<html>Log in to the network</html>') => new Response(text, { status })
  const moved = () => Object.defineProperty(receipt({ accepted: 1 }), 'redirected', { value: true })
  const cases = [
    ['sent', receipt({ accepted: 1 })], ['sent', receipt({ duplicate: 1 })],
    ...['format', 'campaign', 'period-closed', 'row', 'conflict'].map((reason) => ['refused', rejected(reason)]),
    ['waiting', rejected('period-unknown')], ['waiting', rejected(7)], ['waiting', receipt({})],
    ['waiting', receipt({ accepted: 2 })], ['waiting', receipt({ accepted: true })], ['waiting', receipt({ rejected: null })],
    ['waiting', receipt({ accepted: 1, rejected: [{ report: 0, reason: 'row' }] })],
    ['waiting', receipt({ rejected: [{ report: 1, reason: 'row' }] })], ['waiting', receipt({ rejected: [null] })],
    ['waiting', page(200)], ['waiting', page(204, null)], ['waiting', page(200, '')], ['waiting', page(200, 'null')],
    ['waiting', page(200, '[]')], ['waiting', page(302)], ['waiting', page(403)], ['waiting', page(400, '{"error":"no"}')],
    ['waiting', moved()],
  ]
  for (const [fate, response] of cases) {
    const client = await open()
    await client.report('a', vector(1), { now: START })
    const said = `${response.status} ${await response.clone().text()}`
    assert.deepEqual(await client.send(async () => response), { sent: 0, refused: 0, waiting: 0, [fate]: 1 }, said)
    assert.equal(client.pending.length, fate === 'waiting' ? 1 : 0, said)
  }
})

test('a token goes into the header', async () => {
  const asked = []
  const fetch = async (url, { headers }) => { asked.push(headers.authorization); return receipt({}) }
  for (const [opened, sent] of [[undefined, undefined], ['abc', undefined], ['abc', 'def'], [undefined, 'def']]) {
    const client = await open({ token: opened })
    await client.report('a', vector(1), { now: START })
    await client.send(fetch, { token: sent })
  }
  assert.deepEqual(asked, [undefined, 'Bearer abc', 'Bearer def', 'Bearer def'])
  for (const token of ['', 'a b', 'a\r\nx: y', 5]) {
    await assert.rejects(open({ token }), TypeError)
    await assert.rejects((await open()).send(fetch, { token }), TypeError)
  }
})

/** The campaign with other words, pinned by its digest and not signed. */
function other(change) {
  const text = `${change(campaign).replace(/,\n {2}"signature": \{[^}]*\}\n\}\n$/, '')}\n}\n`
  return { campaign: text, signer: undefined, digest: createHash('sha256').update(text).digest('hex') }
}

test('the statement begins with what the device has computed, whatever the campaign says', async () => {
  const everything = { attribute: 9, l1: 9, l2: 9, record: 9, delta: 1e-3 }
  const first = async (options) => (await open({ policy: everything, ...options })).statement.split('\n')[0]
  const of = (...words) => ({ campaign: campaigns.find((text) => words.every((word) => text.includes(word)) && !text.includes('sha256')) })
  const gaussian = '"mechanism": "dp-oporp"'
  const begins = 'Computed on this device: one report costs epsilon 2'
  assert.equal(await first({}), `${begins} for one attribute that changes by at most 1.`)
  assert.equal(await first(of('"unit": "l1"', '"pure"')), `${begins} for changes that add up to at most 1.`)
  assert.equal(await first(of('"unit": "l1"', gaussian)), `${begins} and delta 1e-6 for changes that add up to at most 1.`)
  assert.equal(await first(of('"unit": "l2"', gaussian)), `${begins} and delta 1e-6 for a change of at most 1 in Euclidean distance.`)
  assert.equal(await first(of('"unit": "record"', '"pure"')), `${begins} for the whole vector.`)
  // Who signs may soften the words, not the numbers.
  const softened = other((text) => text.replace(/"notice": \[[^\]]*\]/, '"notice": ["Nothing at all is revealed."]'))
  const { statement } = await open(softened)
  assert.equal(statement, `${begins} for one attribute that changes by at most 1.\nA campaign for tests.\nNothing at all is revealed.`)
  await refuses(open(other((text) => text.replace('"beta": 1.0', '"beta": 2.0'))), 5)
  assert.equal(await first({ campaign: new TextEncoder().encode(campaign).buffer }), await first({}))
})

test('losses are rounded up and what they cover down, to six digits', () => {
  const cases = [
    [2, '2', '2'], [0.1, '0.1', '0.1'], [0.10000000009313226, '0.1', '0.1'], [1.9999631081342089, '1.99997', '1.99996'],
    [0.9999999, '1', '0.99999'], [1.0000001, '1.00001', '1'], [123456.5, '123457', '123456'], [1e6, '1e6', '1e6'],
    [999999.5, '1e6', '999990'], [0.0001, '0.0001', '0.0001'], [1.00000000000002e-6, '1e-6', '1e-6'],
    [2 ** -32, '2.32831e-10', '2.3283e-10'], [1234567, '1.23457e6', '1.23456e6'], [1e-5, '1e-5', '1e-5'], [1e21, '1e21', '1e21'],
  ]
  for (const [number, up, down] of cases) assert.deepEqual([six(number, true), six(number, false)], [up, down])
})

test('nothing is sent where others can read along', async () => {
  const asked = []
  const at = async (address) => {
    const client = await open(other((text) => text.replace('"http://127.0.0.1:8080"', JSON.stringify(address))))
    await client.report('a', vector(1), { now: START })
    const outcome = client.send(async (url) => { asked.push(url); return receipt({ accepted: 1 }) })
    return outcome.then(({ sent }) => sent)
  }
  const fine = ['https://reports.example.org', 'https://a/b/', 'http://127.0.0.1:1', 'http://localhost', 'http://[::1]:80/x']
  for (const address of fine) assert.equal(await at(address), 1, address)
  assert.equal(asked.length, fine.length)
  const wrong = [
    'http://reports.example.org', 'http://127.0.0.1.example.org', 'http://localhost@example.org', 'https://', 'https:///a',
    'http://localhost:80@example.org', 'https://a?b', 'https://a#b', 'https://a b', 'ftp://a', 'file:///etc/passwd', '', '/a',
  ]
  for (const address of wrong) await assert.rejects(at(address), /nothing is sent/, address)
  assert.equal(asked.length, fine.length)
})

test('clients that share a state never spend more than there is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scumble-'))
  try {
    for (const storage of [memoryStorage(), fileStorage(join(folder, 'device.state'))]) {
      const clients = await Promise.all([1, 2, 3, 4].map(() => open({ storage })))
      const tries = clients.flatMap((client, at) => [1, 2].map((n) => client.report('s', vector(2 * at + n), { now: START })))
      const outcomes = await Promise.allSettled(tries)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
      assert.ok(outcomes.every(({ reason }) => reason === undefined || reason.code === 8 || reason.code === 9))
      assert.equal((await open({ storage })).budget.spent.epsilon, 6)
    }
    assert.equal((await readdir(folder)).length, 1)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a crash leaves at most one copy of the state, and the next change removes it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scumble-'))
  try {
    const path = join(folder, 'device.state')
    const crash = (at) => spawnSync(process.execPath, ['--input-type=module', '-e', `
      import fs from 'node:fs/promises'
      import { syncBuiltinESMExports } from 'node:module'
      fs.${at} = () => process.kill(process.pid, 'SIGKILL')
      syncBuiltinESMExports()
      const { fileStorage } = await import(${JSON.stringify(new URL('../src/node.js', import.meta.url))})
      const storage = fileStorage(${JSON.stringify(path)})
      await storage.write(new Uint8Array([1, 2, 3]), await storage.read())
    `]).signal
    const hidden = async () => (await readdir(folder)).filter((name) => name.startsWith('.'))
    for (let time = 0; time < 3; time += 1) {
      assert.equal(crash('link'), 'SIGKILL')
      const [name, ...others] = await hidden()
      assert.deepEqual(others, [])
      assert.equal((await stat(join(folder, name))).mode & 0o077, 0)
    }
    // The first write of a device, then one that crashes between two names, then one of a process whose number is in use again.
    assert.equal(await fileStorage(path).write(new Uint8Array([7]), null), true)
    assert.deepEqual(await readdir(folder), ['device.state.1'])
    assert.equal(crash('unlink'), 'SIGKILL')
    await writeFile(join(folder, `.device.state.3.${process.pid}.abc`), 'a key')
    assert.equal(await fileStorage(path).write(new Uint8Array([8]), new Uint8Array([1, 2, 3])), true)
    assert.deepEqual(await readdir(folder), ['device.state.3'])
    // Somebody else's files stay.
    const names = ['.device.state.old', '.device_state.1.1.a', 'device.state.lock', '.device.state.9.1.a.b']
    for (const name of names) await writeFile(join(folder, name), '')
    const client = await open({ storage: fileStorage(join(folder, 'other')) })
    await client.report('a', vector(1), { now: START })
    assert.deepEqual((await readdir(folder)).sort(), [...names, 'device.state.3', 'other.1'].sort())
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('what others have done with the storage is seen', async () => {
  const storage = memoryStorage()
  const [one, two] = [await open({ storage }), await open({ storage })]
  const report = await one.report('a', vector(1), { now: START })
  assert.equal((await two.refresh()).spent.epsilon, 2)
  assert.equal(two.budget.spent.epsilon, 2)
  assert.deepEqual(two.pending, [report])
  await one.report('b', vector(2), { now: START })
  assert.deepEqual(await two.send(async () => receipt({ accepted: 1 })), { sent: 2, refused: 0, waiting: 0 })
  assert.deepEqual(await one.send(), { sent: 0, refused: 0, waiting: 0 })
  // In turn with the changes of this client: never between preparing and committing.
  const [, { spent }] = await Promise.all([one.report('c', vector(3), { now: START }), one.refresh()])
  assert.equal(spent.epsilon, 6)
  await storage.write(new Uint8Array(9), await storage.read())
  await refuses(one.refresh(), 10)
})

test('processes that share a state never spend more than there is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scumble-'))
  try {
    const path = join(folder, 'device.state')
    const script = `
      import { Client, fileStorage } from ${JSON.stringify(new URL('../src/node.js', import.meta.url))}
      const [campaign, signer, path, from] = process.argv.slice(1)
      const client = await Client.open({ campaign, signer, policy: { attribute: 6 }, storage: fileStorage(path) })
      let made = 0
      for (let seed = Number(from); seed < Number(from) + 3; seed += 1) {
        const vector = Float32Array.from({ length: 40 }, (_, at) => ((at * 37 + seed * 11) % 64) / 64)
        made += await client.report('s', vector, { now: ${START} }).then(() => 1, (error) => { if (error.code !== 8) throw error; return 0 })
      }
      console.log(made)
    `
    const made = await Promise.all([0, 10, 20].map((from) => new Promise((resolve, reject) => {
      execFile(process.execPath, ['--input-type=module', '-e', script, campaign, signer, path, String(from)],
        (error, out) => (error ? reject(error) : resolve(Number(out))))
    })))
    assert.equal(made.reduce((sum, one) => sum + one), 3)
    assert.deepEqual(await readdir(folder), ['device.state.3'])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a store that fails gives no bytes and charges nothing here', async () => {
  const storage = memoryStorage()
  const failing = { read: storage.read, write: async () => { throw new Error('disk full') } }
  const client = await open({ storage: failing })
  await assert.rejects(client.report('a', vector(1), { now: START }), /disk full/)
  assert.deepEqual(client.pending, [])
  assert.equal(client.budget.spent.epsilon, 0)
})

test('nothing private is thrown or logged', async () => {
  const logged = []
  const consoles = ['log', 'warn', 'error', 'info', 'debug'].map((name) => [name, console[name]])
  consoles.forEach(([name]) => { console[name] = (...words) => logged.push(words.join(' ')) })
  const thrown = []
  try {
    const storage = memoryStorage()
    const client = await open({ storage })
    const marked = vector(1)
    marked[3] = 0.123456789
    await client.report('marked-slot', marked, { now: START })
    const key = hex((await storage.read()).subarray(12, 44))
    for (const bad of [marked.subarray(1), Float32Array.from(marked, (value, at) => (at ? value : Number.NaN))]) {
      await client.report('marked-slot', bad, { now: START }).catch((error) => thrown.push(`${error.message} ${error.stack}`))
    }
    const text = [...logged, ...thrown].join('\n')
    assert.equal(thrown.length, 2)
    for (const secret of ['0.1234', 'marked-slot', key, key.slice(0, 12)]) assert.ok(!text.includes(secret))
  } finally {
    consoles.forEach(([name, old]) => { console[name] = old })
  }
})
