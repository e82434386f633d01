// How fast the client is in Node: node speed.js
import { readFile } from 'node:fs/promises'
import { Client } from '../src/node.js'
import { speed } from './support.js'

const file = JSON.parse(await readFile(new URL('../../vectors.json', import.meta.url), 'utf8'))
console.log(`node: ${await speed(Client, file)}`)
