// The same bytes as Rust, C and Python give.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Client, Encoder } from '../src/node.js'
import { bytes, given, hex, once } from './support.js'

const { signer, policy, campaigns, files, vectors } = JSON.parse(await readFile(new URL('../../vectors.json', import.meta.url)))

/** The public file that a vector's campaign names. */
const fileOf = ({ campaign }) => (files[campaign] ? bytes(files[campaign]) : undefined)

test('every vector gives its report and its next state', async () => {
  const [attribute, l1, l2, record, delta] = policy
  for (const vector of vectors) {
    const storage = once(bytes(vector.state))
    const client = await Client.open({
      campaign: campaigns[vector.campaign], file: fileOf(vector), signer, policy: { attribute, l1, l2, record, delta }, storage,
    })
    const report = await client.report(vector.slot, given(vector), { now: vector.now })
    assert.equal(hex(report), vector.report)
    assert.equal(hex(storage.stored), vector.next)
    client.close()
  }
  assert.ok(vectors.length > 60)
})

/** The key inside a state: after 4 bytes of format and 8 of generation. */
const keyOf = (state) => bytes(state).slice(12, 44)

test('the encoding-only module gives the same reports by the plan', async () => {
  const [attribute, l1, l2, record, delta] = policy
  let encoded = 0
  let refused = 0
  for (const vector of vectors) {
    const client = await Client.open({
      campaign: campaigns[vector.campaign], file: fileOf(vector), signer, policy: { attribute, l1, l2, record, delta }, storage: once(bytes(vector.state)),
    })
    const { mechanism, bins } = JSON.parse(campaigns[vector.campaign]).parameters
    if (bins || !/^dp-signoporp-|^dp-oporp-(zones|lattice)$/.test(mechanism)) {
      assert.throws(() => client.plan(), { code: 25 })
      refused += 1
      continue
    }
    const encoder = await Encoder.open({ plan: client.plan(), key: keyOf(vector.state) })
    const { first, seconds } = JSON.parse(campaigns[vector.campaign]).terms.periods
    const period = Math.floor((vector.now - first) / seconds)
    assert.equal(hex(encoder.report(vector.slot, given(vector), period)), vector.report, mechanism)
    assert.notEqual(hex(encoder.report('another', given(vector), period)), vector.report)
    encoder.close()
    client.close()
    encoded += 1
  }
  assert.ok(encoded > 20 && refused > 20, `${encoded} ${refused}`)
})

test('the encoding-only module refuses what is no plan, no key, no vector', async () => {
  const vector = vectors.find(({ campaign }) => JSON.parse(campaigns[campaign]).parameters.mechanism === 'dp-signoporp-ceil')
  const [attribute, l1, l2, record, delta] = policy
  const client = await Client.open({
    campaign: campaigns[vector.campaign], file: fileOf(vector), signer, policy: { attribute, l1, l2, record, delta }, storage: once(bytes(vector.state)),
  })
  const plan = client.plan()
  const key = keyOf(vector.state)
  for (const length of [0, 31, 32, 40, plan.length - 1]) {
    await assert.rejects(Encoder.open({ plan: plan.slice(0, length), key }), { name: 'Refusal', code: 24 })
  }
  await assert.rejects(Encoder.open({ plan, key: new Uint8Array(32) }), { code: 12 })
  const encoder = await Encoder.open({ plan, key })
  assert.throws(() => encoder.report('', given(vector), 0), { code: 17 })
  assert.throws(() => encoder.report('profile', new Float32Array(3), 0), { code: 14 })
  const dim = JSON.parse(campaigns[vector.campaign]).parameters.dim
  assert.throws(() => encoder.report('profile', new Float64Array(dim).fill(NaN), 0), { code: 13 })
})
