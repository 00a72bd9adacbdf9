/** An image out of an archive, unpacked by ordinary tools, and its program in a root of its own, without an engine. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { RunConfig } from '../../scripts/release/images/base.ts'

const run = promisify(execFile)

export interface Blob {
  digest: string
  content: Buffer
}

export interface Layout {
  blobs: Blob[]
  layers: Blob[]
  config: { created: string; config: RunConfig; rootfs: { diff_ids: string[] } }
}

interface Descriptor {
  digest: string
}

/** By the index, as registries' tools read it. */
export async function readLayout(archive: string): Promise<Layout> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-layout-'))
  try {
    await run('tar', ['-xf', archive, '-C', folder])
    const names = await readdir(join(folder, 'blobs/sha256'))
    const blobs = await Promise.all(
      names.map(async (digest) => ({ digest, content: await readFile(join(folder, 'blobs/sha256', digest)) })),
    )
    const blob = ({ digest }: Descriptor): Blob => blobs.find((one) => `sha256:${one.digest}` === digest)!
    const read = (bytes: Buffer): unknown => JSON.parse(bytes.toString())
    const { manifests } = read(await readFile(join(folder, 'index.json'))) as { manifests: [Descriptor] }
    const { config, layers } = read(blob(manifests[0]).content) as { config: Descriptor; layers: Descriptor[] }
    return { blobs, layers: layers.map(blob), config: read(blob(config).content) as Layout['config'] }
  } finally {
    await rm(folder, { recursive: true })
  }
}

export async function unpackLayer({ content }: Blob, root: string): Promise<void> {
  await mkdir(root, { recursive: true })
  const tar = spawn('tar', ['-xzf', '-', '-C', root], { stdio: ['pipe', 'inherit', 'inherit'] })
  tar.stdin.end(content)
  const [code] = (await once(tar, 'exit')) as [number]
  if (code !== 0) throw new Error(`tar ended with ${code}`)
}

/** Runs the image's program, or another one, as the image's user. It sees the image's files alone. */
export async function runImage(
  root: string,
  { config }: Layout['config'],
  command = [...config.Entrypoint!, ...(config.Cmd ?? [])],
): Promise<{ code: number; output: string }> {
  const [uid, gid] = config.User!.split(':') as [string, string]
  const namespaces = ['--mount', '--pid', '--net', '--fork', '--kill-child', '--root', root, '--wd', config.WorkingDir!]
  // Who is not root is root in a namespace of his own.
  const user = process.getuid!() === 0 ? ['--setuid', uid, '--setgid', gid] : ['--map-root-user']
  const environment = Object.fromEntries(
    config.Env!.map((one) => [one.split('=')[0]!, one.slice(one.indexOf('=') + 1)]),
  )
  const child = spawn('/usr/bin/unshare', [...namespaces, ...user, ...command], { env: environment })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => void (output += text))
  }
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
