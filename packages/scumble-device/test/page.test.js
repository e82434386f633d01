// The server of the demonstration page.

import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { serve } from '../../demo-page/serve.mjs'

test('the page is served, and nothing that is asked ends the server', async () => {
  const server = await serve(0)
  const { port } = server.address()
  const status = (path) => new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (answer) => resolve(answer.resume().statusCode)).on('error', reject)
  })
  try {
    for (const path of ['//', '//[', 'http://[', '//a:b/']) assert.equal(await status(path), 400, path)
    for (const path of ['/demo-page/', '/demo-page/none.js', '/../../etc/passwd', '/%00', '///', '/vectors.json/x']) {
      assert.ok([400, 404].includes(await status(path)), path)
    }
    assert.equal(await status('/'), 302)
    assert.equal(await status('/demo-page/index.html'), 200)
  } finally {
    server.close()
  }
})
