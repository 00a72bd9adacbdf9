/**
 * A certificate authority of a test's own, with one certificate, for this machine or for a named one. X.509 is written
 * by hand: Node can only read it, and no program has to be installed. Good for an hour.
 */

import { generateKeyPairSync, sign } from 'node:crypto'

export interface OwnAuthority {
  /** The server's certificate, which is its own authority, and its key, both in PEM. */
  certificate: string
  key: string
}

const [SEQUENCE, SET, INTEGER, BITS, OCTETS, OID, TEXT, TIME, BOOLEAN] = [
  0x30, 0x31, 0x02, 0x03, 0x04, 0x06, 0x0c, 0x17, 0x01,
] as const
const VERSION_3 = 2
/** Tags that the standard numbers itself: a version, extensions, a name, an address. */
const [VERSION, EXTENSIONS, DNS_NAME, IP_ADDRESS] = [0xa0, 0xa3, 0x82, 0x87] as const

const ECDSA_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]
const COMMON_NAME = [0x55, 0x04, 0x03]
const ALTERNATIVE_NAMES = [0x55, 0x1d, 0x11]
const BASIC_CONSTRAINTS = [0x55, 0x1d, 0x13]
const LIFETIME_MS = 3_600_000

const THIS_MACHINE = [der(DNS_NAME, Buffer.from('localhost')), der(IP_ADDRESS, [127, 0, 0, 1])]

export function createOwnAuthority(host?: string): OwnAuthority {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, der(OID, ECDSA_SHA256))
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, der(OID, COMMON_NAME), der(TEXT, Buffer.from('a test')))))
  const nowMs = Date.now()
  const names = der(SEQUENCE, ...(host === undefined ? THIS_MACHINE : [der(DNS_NAME, Buffer.from(host))]))
  const isAuthority = der(SEQUENCE, der(BOOLEAN, [0xff]))
  const content = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, [VERSION_3])),
    der(INTEGER, [1]),
    algorithm,
    name,
    der(SEQUENCE, time(nowMs - LIFETIME_MS), time(nowMs + LIFETIME_MS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, der(SEQUENCE, extension(ALTERNATIVE_NAMES, names), extension(BASIC_CONSTRAINTS, isAuthority))),
  )
  const signature = sign('sha256', content, privateKey)
  const certificate = der(SEQUENCE, content, algorithm, der(BITS, [0], signature))
  return {
    certificate: pem('CERTIFICATE', certificate),
    key: pem('PRIVATE KEY', privateKey.export({ type: 'pkcs8', format: 'der' })),
  }
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

function extension(id: number[], value: Buffer): Buffer {
  return der(SEQUENCE, der(OID, id), der(OCTETS, value))
}

function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\..*/g, '')
  return der(TIME, Buffer.from(`${digits.slice(2)}Z`))
}

/** One value by the distinguished encoding rules. */
function der(tag: number, ...parts: (Uint8Array | readonly number[])[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)))
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}
