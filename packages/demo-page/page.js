// The page: reads the vector, asks the client, shows what it says. All privacy is the module's.

import { Client, indexedDbStorage, memoryStorage } from '../scumble-device/src/index.js'

const TOPICS = ['Gardens', 'Health', 'Money', 'Music', 'News', 'Science', 'Sport', 'Travel']
const BUDGET = { attribute: 40, record: 40 }
const PREVIEWS = 25
const $ = (id) => document.getElementById(id)
const { signer, campaigns } = await (await fetch('campaigns.json')).json()
const epsilons = [...new Set(campaigns.map(({ epsilon }) => epsilon))]
const chosen = { input: 'profile', kind: 'values', epsilon: 2 }
let database = 'scumble-demo'

/** The campaign of a choice, as text. */
function text({ input, kind, epsilon }) {
  return campaigns.find((one) => one.input === input && one.kind === kind && one.epsilon === epsilon).campaign
}

function open(choice, storage, policy = BUDGET) {
  return Client.open({ campaign: text(choice), signer, policy, storage })
}

// ---- the vector

TOPICS.forEach((topic, at) => {
  const row = document.createElement('label')
  row.className = 'slider'
  row.innerHTML = `<span>${topic}</span><input type="range" min="0" max="1" step="0.05"><output></output>`
  const [, slider, out] = row.children
  slider.value = [0.9, 0.2, 0.4, 0.75, 0.5, 0.6, 0.1, 0.3][at]
  slider.addEventListener('input', changed)
  const show = () => { out.textContent = Number(slider.value).toFixed(2) }
  slider.addEventListener('input', show)
  show()
  $('profile').append(row)
})

function vector() {
  if (chosen.input === 'profile') return Float32Array.from($('profile').querySelectorAll('input'), ({ value }) => Number(value))
  return triples($('words').value)
}

/** 64 numbers: how often letter triples fall into each of 64 places, 1 at the most. */
function triples(words) {
  const out = new Float32Array(64)
  const letters = ` ${words.toLowerCase().replace(/\s+/g, ' ').trim()} `
  for (let at = 0; at + 3 <= letters.length; at += 1) {
    let hash = 2166136261
    for (const letter of letters.slice(at, at + 3)) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619) >>> 0
    out[(hash >>> 8) % 64] = Math.min(1, out[(hash >>> 8) % 64] + 0.25)
  }
  return out
}

// ---- what was released

function values(report) {
  const row = report.slice(32)
  return new Float32Array(row.buffer, 0, row.length / 4)
}

function bits(report, count) {
  return Array.from({ length: count }, (_, at) => (report[32 + (at >> 3)] >> (7 - (at & 7))) & 1)
}

function distance(a, b) {
  return Math.sqrt(a.reduce((sum, value, at) => sum + (value - b[at]) ** 2, 0))
}

function show(report) {
  const released = $('released')
  released.replaceChildren()
  const truth = vector()
  if (chosen.kind === 'values' && chosen.input === 'profile') {
    const table = document.createElement('table')
    table.innerHTML = '<thead><tr><th scope="col">topic</th><th scope="col">yours</th><th scope="col">leaves</th></tr></thead>'
    const body = table.createTBody()
    values(report).forEach((value, at) => {
      const row = body.insertRow()
      row.insertCell().textContent = TOPICS[at]
      row.insertCell().textContent = truth[at].toFixed(2)
      row.insertCell().textContent = value.toFixed(2)
    })
    released.append(table)
  } else if (chosen.kind === 'values') {
    const words = document.createElement('pre')
    words.textContent = Array.from(values(report), (value) => value.toFixed(2)).join('  ')
    released.append(words)
  } else {
    const row = document.createElement('div')
    row.className = 'bits'
    for (const bit of bits(report, truth.length)) {
      const cell = document.createElement('span')
      cell.className = bit ? 'bit one' : 'bit'
      cell.textContent = bit
      row.append(cell)
    }
    released.append(row)
  }
  const part = (from, to) => Array.from(report.slice(from, to), (byte) => byte.toString(16).padStart(2, '0')).join('')
  $('bytes').textContent = `magic     scr1\ncampaign  ${part(4, 12)}\nperiod    ${new DataView(report.buffer).getUint32(12, true)}\n`
    + `id        ${part(16, 32)}\nrow       ${part(32)}\n\n${report.length} bytes: no name, no address, no time`
}

// ---- promise, cost, distance

let asked = 0

async function promise() {
  const mine = ++asked
  const client = await open(chosen, indexedDbStorage(database), { attribute: 1e6, record: 1e6 })
  if (mine !== asked) return client.close() // another choice since
  const { epsilon, unit, spent } = client.budget
  const odds = Math.exp(epsilon)
  const after = odds / (1 + odds)
  const what = unit === 'record' ? 'your whole vector' : 'one of these numbers'
  const sure = after > 0.9995 ? 'almost certainty' : `${(100 * after).toFixed(after > 0.99 ? 2 : 0)}%`
  $('odds').textContent = `Whoever knows everything but ${what}, and guesses it with even odds, can become at most ${sure} sure.`
  $('statement').replaceChildren(...client.statement.split('\n').map((sentence) => {
    const line = document.createElement('p')
    line.textContent = sentence
    return line
  }))
  const most = BUDGET[unit]
  $('spent').textContent = `epsilon ${spent.epsilon} of ${most} (${unit === 'record' ? 'whole vector' : 'one number'})`
  $('bar').value = Math.min(1, spent.epsilon / most)
  client.close()
}

let turn = 0

/** Means over fresh devices, for each epsilon; a later change of the vector ends it. */
async function distances() {
  const mine = ++turn
  const truth = vector()
  const rows = []
  for (const epsilon of epsilons) {
    const client = await open({ input: chosen.input, kind: 'values', epsilon }, memoryStorage(), { attribute: 1e6 })
    let sum = 0
    for (let slot = 0; slot < PREVIEWS; slot += 1) sum += distance(truth, values(await client.report(`${slot}`, truth)))
    client.close()
    if (mine !== turn) return
    rows.push([epsilon, sum / PREVIEWS])
  }
  const most = Math.log1p(Math.max(...rows.map(([, mean]) => mean)))
  const body = $('distances').tBodies[0]
  body.replaceChildren()
  for (const [epsilon, mean] of rows) {
    const row = body.insertRow()
    row.className = epsilon === chosen.epsilon ? 'chosen' : ''
    row.insertCell().textContent = epsilon
    row.insertCell().textContent = mean.toFixed(mean < 0.1 ? 3 : 2)
    const bar = document.createElement('span')
    bar.className = 'bar'
    bar.style.width = `${100 * Math.log1p(mean) / most}%`
    row.insertCell().append(bar)
  }
  $('distances').dataset.ready = mine
}

let waiting

function changed() {
  clearTimeout(waiting)
  waiting = setTimeout(() => distances(), 150)
}

async function refresh() {
  $('epsilon-value').textContent = chosen.epsilon
  await promise()
  changed()
}

// ---- what the person does

for (const input of ['profile', 'sentence']) {
  $(`tab-${input}`).addEventListener('click', () => {
    chosen.input = input
    for (const other of ['profile', 'sentence']) {
      $(other).hidden = other !== input
      $(`tab-${other}`).setAttribute('aria-selected', other === input)
    }
    refresh()
  })
}
document.querySelectorAll('input[name=kind]').forEach((choice) => choice.addEventListener('change', () => {
  chosen.kind = choice.value
  refresh()
}))
$('epsilon').addEventListener('input', () => {
  chosen.epsilon = epsilons[Number($('epsilon').value)]
  refresh()
})
$('words').addEventListener('input', changed)

/** Shows what became of it, after what it cost: who reads the outcome finds both. */
async function say(outcome) {
  await promise()
  $('outcome').textContent = outcome
}

$('report').addEventListener('click', async () => {
  try {
    const client = await open(chosen, indexedDbStorage(database))
    const before = client.budget.spent.epsilon
    const report = await client.report(chosen.input, vector())
    const cost = client.budget.spent.epsilon - before
    client.close()
    if (report) show(report)
    await say(!report ? 'Already sent: a vector that has not changed is not sent again.'
      : cost === 0 ? 'The same vector again: the same bytes, nothing more is spent.'
        : `Charged epsilon ${cost}, stored, then made: ${report.length} bytes would leave. They wait to be sent.`)
  } catch (error) {
    await say(`Refused: ${error.message}`)
  }
})

$('send').addEventListener('click', async () => {
  const client = await open(chosen, indexedDbStorage(database), { attribute: 1e6, record: 1e6 })
  const { sent, refused, waiting: left } = await client.send()
  client.close()
  await say(sent + refused + left === 0 ? 'Nothing of this campaign waits.'
    : `${sent} taken, ${refused} refused for good, ${left} still waiting${left ? ' (does a collector run on 127.0.0.1:8080?)' : ''}.`)
})

$('reset').addEventListener('click', async () => {
  await new Promise((resolve) => { indexedDB.deleteDatabase(database).onsuccess = resolve })
  await say('A new device: a new key, nothing spent. A real application would not let you forget so easily.')
})

await refresh()
document.body.dataset.ready = 'yes'
