// Devices in JavaScript: node node.mjs PACKAGE CAMPAIGN SIGNER VECTORS.f32 DIM FIRST COUNT NOW
import { readFile } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'

const [folder, campaignFile, signerFile, vectorsFile, dim, first, count, now] = process.argv.slice(2)
const { Client, memoryStorage } = await import(pathToFileURL(`${folder}/src/node.js`))
const [campaign, signer] = await Promise.all([campaignFile, signerFile].map((file) => readFile(file, 'utf8')))
const bytes = await readFile(vectorsFile)
const vectors = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)

const totals = { sent: 0, refused: 0, waiting: 0 }
for (let device = Number(first); device < Number(first) + Number(count); device += 1) {
  const client = await Client.open({ campaign, signer, policy: { attribute: 8, record: 8 }, storage: memoryStorage() })
  await client.report('profile', vectors.slice(device * Number(dim), (device + 1) * Number(dim)), { now: Number(now) })
  const outcome = await client.send()
  for (const key of Object.keys(totals)) totals[key] += outcome[key]
  client.close()
}
console.log(JSON.stringify(totals))
