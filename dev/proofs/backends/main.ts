/**
 * `npm run prove backends`: installs real inference servers and real clients from packages, saying so, and runs
 * `tests/backends` on them. Words after `--` go to vitest. A whole run writes `docs/backends.md` and the README's picture.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { findClients } from './clients.ts'
import { findLlama } from './llama.ts'
import { writePage, type Evidence } from './write-page.ts'

const ROOT = join(import.meta.dirname, '../../..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const PAGE = join(ROOT, 'docs/backends.md')
const SEEN_PICTURE = join(ROOT, '.artifacts/console/playground-real-model.png')
const PICTURE = join(ROOT, 'docs/images/console-real-model.png')

const folder = await mkdtemp(join(tmpdir(), 'gateway-backends-'))
const evidence = join(folder, 'evidence.jsonl')

try {
  const llama = await findLlama()
  const clients = await findClients()
  const environment = {
    LLAMA_SERVER: llama.server,
    LLAMA_MODEL: llama.model,
    CLIENTS_FOLDER: clients.folder,
    CLIENTS_PYTHON: clients.python,
    TIKTOKEN_CACHE_DIR: clients.tokensFolder,
    BACKENDS_EVIDENCE: evidence,
  }
  const words = process.argv.slice(2)
  const config = join(ROOT, 'tests/backends/vitest.config.ts')
  const vitest = spawn(process.execPath, [VITEST, 'run', '--config', config, ...words], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  const [code] = (await once(vitest, 'exit')) as [number | null]
  process.exitCode = code ?? 1
  // A part of the tests has seen a part only.
  if (code === 0 && words.length === 0) {
    await writeFile(PAGE, writePage(await readEvidence(clients.versions)))
    await copyFile(SEEN_PICTURE, PICTURE)
  }
} catch (error) {
  reportFatal(error)
} finally {
  await rm(folder, { recursive: true, force: true })
}

async function readEvidence(versions: string): Promise<Evidence> {
  const lines = (await readFile(evidence, 'utf8')).trim().split('\n')
  const parts = lines.map((line) => JSON.parse(line) as Partial<Evidence>)
  return {
    versions,
    findings: parts.flatMap((part) => part.findings ?? []),
    tests: parts.flatMap((part) => part.tests ?? []),
    clients: parts.flatMap((part) => part.clients ?? []),
  }
}
