/**
 * Checks a request that is signed with AWS Signature Version 4, step by step as AWS describes it. It is independent of the
 * library that signed the request: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html (November
 * 2026).
 */

import { createHash, createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

interface Signed {
  method: string
  /** As it came, with its query. */
  path: string
  headers: IncomingHttpHeaders
  body: string
}

export interface Identity {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Null where the signature holds, else the reason. */
export function signatureFault(
  { method, path, headers, body }: Signed,
  identity: Identity,
  { region, service }: { region: string; service: string },
): string | null {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/
  const match = form.exec(headers.authorization ?? '')
  if (!match) return 'no signature'
  const [, accessKeyId, day, itsRegion, itsService, names, signature] = match
  const time = String(headers['x-amz-date'])
  const scope = `${day}/${region}/${service}/aws4_request`
  if (accessKeyId !== identity.accessKeyId) return 'another access key'
  if (itsRegion !== region || itsService !== service) return `scope of ${itsRegion}/${itsService}`
  if (!time.startsWith(day!)) return 'another day'
  if (identity.sessionToken !== undefined && headers['x-amz-security-token'] !== identity.sessionToken)
    return 'no session token'
  const signedNames = names!.split(';')
  if (!signedNames.includes('host') || !signedNames.includes('x-amz-date')) return 'too little is signed'
  const { pathname, searchParams } = new URL(path, 'http://localhost')
  const query = [...searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort()
  const canonicalHeaders = signedNames.map((name) => `${name}:${String(headers[name]).trim()}\n`)
  const canonicalPath = pathname.split('/').map(encodeURIComponent).join('/')
  const request = [method, canonicalPath, query.join('&'), canonicalHeaders.join(''), names, sha256(body)].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')
  const key = [region, service, 'aws4_request'].reduce<Buffer>(
    (former, part) => hmac(former, part),
    hmac(`AWS4${identity.secretAccessKey}`, day!),
  )
  return hmac(key, toSign).toString('hex') === signature ? null : 'the signature does not match the request'
}
