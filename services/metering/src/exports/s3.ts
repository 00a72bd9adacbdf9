/**
 * S3-compatible storage. One signed PUT writes a file: the storage has all of it or nothing, and a repetition replaces it by the same
 * bytes. The body's SHA-256 is signed, so the storage refuses a body that was changed on the way.
 *
 * Credentials come from AWS' standard chain: environment, profiles, a role of the container, the pod or the machine. The endpoint's
 * name is resolved once for each attempt and checked as those of webhooks are.
 */

import { createHash } from 'node:crypto'
import { fromNodeProviderChain } from '@aws-sdk/credential-providers'
import type { ExportConfig } from '@gateway/contracts/exports'
import { Sha256 } from '@gateway/service/sha256'
import { SignatureV4 } from '@smithy/signature-v4'
import { Client } from 'undici'
import { checkedAddress, pinnedTo } from '../public-address.ts'
import type { Destination } from './destination.ts'

const WRITE_TIMEOUT_MS = 300_000
const CONNECT_TIMEOUT_MS = 10_000
const MOST_ERROR_BYTES = 2_048
const DEFAULT_REGION = 'us-east-1'

export interface Place {
  region: string
  origin: string
  /** Before the name of each file, with slashes around. */
  prefix: string
}

export function placeOf(
  { to, endpoint, region: named, pathStyle }: Pick<ExportConfig, 'to' | 'endpoint' | 'region' | 'pathStyle'>,
  environment: NodeJS.ProcessEnv,
): Place {
  const { host: bucket, pathname } = new URL(to)
  // The variables of AWS' own tools.
  const region = named || environment['AWS_REGION'] || environment['AWS_DEFAULT_REGION'] || DEFAULT_REGION
  const given = endpoint || environment['AWS_ENDPOINT_URL_S3'] || environment['AWS_ENDPOINT_URL']
  const base = new URL(given ?? `https://s3.${region}.amazonaws.com`)
  const folder = base.pathname.replace(/\/$/, '')
  const inBucket = pathname.replace(/^\/?/, '/').replace(/\/?$/, '/')
  // A bucket with dots in its name fits no certificate of `*.s3.amazonaws.com`. Most other storage knows paths alone.
  if (pathStyle ?? (given !== undefined || bucket.includes('.'))) {
    return { region, origin: base.origin, prefix: `${folder}/${bucket}${inBucket}` }
  }
  base.hostname = `${bucket}.${base.hostname}`
  return { region, origin: base.origin, prefix: `${folder}${inBucket}` }
}

export function openBucket(
  config: ExportConfig,
  environment: NodeJS.ProcessEnv,
  resolve: typeof checkedAddress = checkedAddress,
): Destination {
  const { region, origin, prefix } = placeOf(config, environment)
  const credentials = fromNodeProviderChain({ clientConfig: { region } })
  // The path is signed as it is sent. S3 alone encodes it once.
  const signer = new SignatureV4({
    service: 's3',
    region,
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  })

  return {
    async write(name, bytes) {
      const { host, hostname, port, protocol } = new URL(origin)
      const path = `${prefix}${name}`.split('/').map(encodePart).join('/')
      const { headers } = await signer.sign({
        method: 'PUT',
        protocol,
        hostname,
        ...(port === '' ? {} : { port: Number(port) }),
        path,
        headers: {
          host,
          'content-length': String(bytes.length),
          'content-type': 'application/octet-stream',
          'x-amz-content-sha256': createHash('sha256').update(bytes).digest('hex'),
        },
      })
      const address = await resolve(hostname, config.allowPrivate)
      const client = new Client(origin, { connect: { timeout: CONNECT_TIMEOUT_MS, ...pinnedTo(address) } })
      try {
        await put(client, path, headers, bytes)
      } finally {
        await client.destroy()
      }
    },
  }
}

/** A redirect is an error: its place was not checked. */
async function put(client: Client, path: string, headers: Record<string, string>, bytes: Uint8Array): Promise<void> {
  const { statusCode, body } = await client.request({
    method: 'PUT',
    path,
    headers,
    body: bytes,
    signal: AbortSignal.timeout(WRITE_TIMEOUT_MS),
  })
  const text = (await body.text()).slice(0, MOST_ERROR_BYTES)
  if (statusCode >= 200 && statusCode < 300) return
  const fault = /<Code>([^<]+)<\/Code>/.exec(text)?.[1] ?? 'no reason'
  const message = /<Message>([^<]+)<\/Message>/.exec(text)?.[1]
  throw new Error(`the storage replied ${statusCode} ${fault}${message === undefined ? '' : `: ${message}`}`)
}

/** As S3 encodes the parts of a path: all but the unreserved characters. */
function encodePart(part: string): string {
  const escape = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(decodeURIComponent(part)).replace(/[!'()*]/g, escape)
}
