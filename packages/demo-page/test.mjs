// The page and the package in headless Chromium: vectors, IndexedDB shared by tabs, the page itself, speed, screenshots.
// `node packages/demo-page/test.mjs [FOLDER for screenshots]`; needs playwright-core and a chromium.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { serve } from './serve.mjs'

const require = createRequire(join(process.env.PLAYWRIGHT_FOLDER ?? process.cwd(), 'x.js'))
const { chromium } = require('playwright-core')
const server = await serve(0)
const origin = `http://127.0.0.1:${server.address().port}`
const patience = 300_000 // milliseconds that the browser has for one step: only against a hang
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'], timeout: patience,
})
const faults = []

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  context.setDefaultTimeout(patience)
  // Nothing reaches a collector, whoever listens there.
  await context.route('http://127.0.0.1:8080/**', (route) => route.abort('connectionrefused'))
  const page = await context.newPage()
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    const unreachable = message.text().includes('ERR_CONNECTION_REFUSED') // as routed above
    if (message.type() === 'error' && !unreachable) faults.push(message.text())
  })

  // Every vector, in the page.
  await page.goto(`${origin}/demo-page/index.html`)
  await page.waitForSelector('body[data-ready]')
  const outcome = await page.evaluate(async () => {
    const { Client } = await import('/scumble-device/src/index.js')
    const { bytes, given, hex, once, speed } = await import('/scumble-device/test/support.js')
    const file = await (await fetch('/vectors.json')).json()
    const { signer, policy, campaigns, files, vectors } = file
    const [attribute, l1, l2, record, delta] = policy
    let wrong = 0
    for (const vector of vectors) {
      const storage = once(bytes(vector.state))
      const [campaign, public_] = [campaigns[vector.campaign], files[vector.campaign]]
      const client = await Client.open({ campaign, file: public_ && bytes(public_), signer, policy: { attribute, l1, l2, record, delta }, storage })
      const report = await client.report(vector.slot, given(vector), { now: vector.now })
      if (hex(report) !== vector.report || hex(storage.stored) !== vector.next) wrong += 1
      client.close()
    }
    return { count: vectors.length, wrong, said: await speed(Client, file) }
  })
  assert.equal(outcome.wrong, 0)
  assert.ok(outcome.count > 60)
  console.log(`chromium: ${outcome.count} vectors; ${outcome.said}`)

  // Two tabs with one IndexedDB: never more spent than there is.
  const spend = (seed) => async (tab) => tab.evaluate(async (from) => {
    const { Client, indexedDbStorage } = await import('/scumble-device/src/index.js')
    const { signer, campaigns } = await (await fetch('/vectors.json')).json()
    const campaign = campaigns.find((text) => text.includes('"dp-signoporp-ceil"') && text.includes('"dim": 40'))
    const client = await Client.open({ campaign, signer, policy: { attribute: 6 }, storage: indexedDbStorage('shared') })
    let made = 0
    for (let at = 0; at < 3; at += 1) {
      const vector = Float32Array.from({ length: 40 }, (_, j) => ((j * 37 + (from + at) * 11) % 64) / 64)
      made += await client.report('s', vector, { now: 1_800_000_000 }).then(() => 1, (error) => { if (error.code !== 8) throw error; return 0 })
    }
    return made
  }, seed)
  const other = await context.newPage()
  await other.goto(`${origin}/demo-page/index.html`)
  const [a, b] = await Promise.all([spend(1)(page), spend(10)(other)])
  assert.equal(a + b, 3)
  await other.close()

  // The page: a report is made, charged once, and the distance falls as epsilon grows.
  await page.reload()
  await page.waitForSelector('#distances[data-ready]')
  await page.click('#report')
  await page.waitForFunction(() => document.getElementById('outcome').textContent.includes('Charged epsilon 2'))
  assert.match(await page.textContent('#spent'), /epsilon 2 of 40/)
  assert.match(await page.textContent('#statement p'), /^Computed on this device: one report costs epsilon 2 for one attribute/)
  await page.click('#report')
  await page.waitForFunction(() => document.getElementById('outcome').textContent.includes('same bytes'))
  assert.match(await page.textContent('#spent'), /epsilon 2 of 40/)
  const means = await page.$$eval('#distances tbody td:nth-child(2)', (cells) => cells.map((cell) => Number(cell.textContent)))
  assert.ok(means.every((mean, at) => at === 0 || mean < means[at - 1]), String(means))
  await page.click('#send')
  await page.waitForFunction(() => document.getElementById('outcome').textContent.includes('still waiting'))
  const folder = process.argv[2]
  if (folder) await page.screenshot({ path: join(folder, 'desktop.png'), fullPage: true })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.click('#tab-sentence')
  await page.check('input[value=bits]')
  await page.fill('#words', 'A sentence about music.')
  await page.click('#report')
  await page.waitForSelector('.bit')
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
  if (folder) await page.screenshot({ path: join(folder, 'phone.png'), fullPage: true })
  assert.deepEqual(faults, [])
  console.log('page: fine')
} finally {
  await browser.close()
  server.close()
}
