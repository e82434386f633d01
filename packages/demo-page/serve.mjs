// Serves the demonstration page on this machine only: `node packages/demo-page/serve.mjs [PORT]`.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer } from 'node:http'
import { dirname, extname, normalize, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const kinds = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css',
  '.json': 'application/json', '.wasm': 'application/wasm',
}

/** Only what the page needs: this folder, the package, the vectors. */
const allowed = /^\/(demo-page\/[\w.-]+|scumble-device\/(src|wasm|test)\/[\w.-]+|vectors\.json)$/

/** The path of an address, or null if it is none (`//`). */
function asked(address) {
  try {
    return normalize(new URL(address, 'http://localhost').pathname)
  } catch {
    return null
  }
}

export function serve(port = 8000) {
  const server = createServer(async (request, response) => {
    const path = asked(request.url)
    if (path === null) return response.writeHead(400).end('not an address')
    if (path === '/favicon.ico') return response.writeHead(204).end()
    if (path === '/') return response.writeHead(302, { location: '/demo-page/index.html' }).end()
    const file = join(root, path)
    if (!allowed.test(path) || !(await stat(file).then((found) => found.isFile(), () => false))) {
      return response.writeHead(404).end('not found')
    }
    response.writeHead(200, {
      'content-type': kinds[extname(file)] ?? 'application/octet-stream', 'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' http://127.0.0.1:8080",
    })
    createReadStream(file).on('error', () => response.destroy()).pipe(response)
  })
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await serve(Number(process.argv[2] ?? 8000))
  console.log(`http://127.0.0.1:${server.address().port}/`)
}
