/**
 * `npm run prove clients`: builds the clients of OpenAI's API that people use from Go, Rust, Java and Python, and says so. Then
 * it runs `tests/clients` with them: the texts that a person reads of each failure. Words after `--` go to vitest.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { findProgram } from '@gateway/servers/find-program'
import { reportFatal } from '@gateway/service/report-fatal'
import { CACHE, pythonWith, run } from '../../../scripts/python.ts'

const ROOT = join(import.meta.dirname, '../../..')
const SOURCES = join(ROOT, 'tests/clients')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

/** All of November 2026. */
const OF_PYTHON = {
  openai: '3.57.0',
  anthropic: '2.14.0',
  litellm: '1.110.2',
  'langchain-openai': '1.7.4',
  'langchain-anthropic': '1.7.10',
}
/** The versions stand in the sources: `go.mod`, `Cargo.toml`, `pom.xml`. */
const BUILT = {
  go: { client: 'openai-go-3.99.0', program: 'go', install: 'Go (go.dev)' },
  rust: { client: 'async-openai-0.43.0', program: 'cargo', install: 'Rust (rustup.rs)' },
  java: { client: 'openai-java-4.101.0', program: 'mvn', install: 'Maven and a JDK of 17 or newer' },
}
type Language = keyof typeof BUILT

try {
  const programs = await pythonWith({
    folder: `clients-python-${Object.values(OF_PYTHON).join('-')}`,
    packages: Object.entries(OF_PYTHON).map(([name, version]) => `${name}==${version}`),
    notice: 'installing the Python clients from PyPI',
  })
  const commands = {
    python: [join(programs, 'python'), join(SOURCES, 'python_clients.py')],
    go: [
      join(
        await build('go', [
          ['mod', 'tidy'],
          ['build', '-o', 'client', '.'],
        ]),
        'client',
      ),
    ],
    rust: [join(await build('rust', [['build', '--quiet']]), 'target/debug/client')],
    java: await javaCommand(),
  }
  const config = join(SOURCES, 'vitest.config.ts')
  const vitest = spawn(process.execPath, [VITEST, 'run', '--config', config, ...process.argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, CLIENT_COMMANDS: JSON.stringify(commands) },
  })
  const [code] = (await once(vitest, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} catch (error) {
  reportFatal(error)
}

async function javaCommand(): Promise<string[]> {
  const folder = await build('java', [
    ['--quiet', '--batch-mode', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath.txt'],
  ])
  const libraries = (await readFile(join(folder, 'classpath.txt'), 'utf8')).trim()
  return ['java', '-cp', [join(folder, 'target/classes'), libraries].join(delimiter), 'Client']
}

/** The folder of a client that is built, once for each version. */
async function build(language: Language, steps: string[][]): Promise<string> {
  const { client, program: name, install } = BUILT[language]
  const folder = join(CACHE, `client-${client}`)
  if (existsSync(folder)) return folder
  const program = findProgram(name)
  if (!program) throw new Error(`${name} is missing: install ${install}`)
  if (process.env['GATEWAY_NO_INSTALL']) {
    throw new Error(`${client} is not built and GATEWAY_NO_INSTALL forbids to download its packages`)
  }
  process.stderr.write(`building a program with ${client}\n`)
  const making = `${folder}.new`
  await rm(making, { recursive: true, force: true })
  await mkdir(CACHE, { recursive: true })
  await cp(join(SOURCES, language), making, { recursive: true })
  for (const step of steps) await run(program, step, { cwd: making })
  await rename(making, folder)
  return folder
}
