// The same bytes as Rust, C and Python give.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { Client } from '../src/node.js'
import { bytes, given, hex, once } from './support.js'

const { signer, policy, campaigns, vectors } = JSON.parse(await readFile(new URL('../../vectors.json', import.meta.url)))

test('every vector gives its report and its next state', async () => {
  const [attribute, l1, l2, record, delta] = policy
  for (const vector of vectors) {
    const storage = once(bytes(vector.state))
    const client = await Client.open({
      campaign: campaigns[vector.campaign], signer, policy: { attribute, l1, l2, record, delta }, storage,
    })
    const report = await client.report(vector.slot, given(vector), { now: vector.now })
    assert.equal(hex(report), vector.report)
    assert.equal(hex(storage.stored), vector.next)
    client.close()
  }
  assert.ok(vectors.length > 60)
})
