/** The credentials that the stand-ins take, and how they look for them. */

import type { SeenRequest } from '../http-backend.ts'
import type { Identity } from './signature-v4.ts'

export const KEY = 'a-key-that-only-the-vendor-and-the-router-know'
export const TOKEN = 'ya29.a-token-from-the-identity-server'
export const AWS_IDENTITY: Identity = {
  accessKeyId: 'ASIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: 'a-session-token+of/the-machine==',
}

/** Exactly this credential header, and none of the others. */
export const onlyHeader =
  (name: string, value: string) =>
  ({ headers }: SeenRequest): string | null => {
    const others = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'].filter((other) => other !== name)
    const wrong = others.find((other) => headers[other] !== undefined)
    if (wrong) return `the header ${wrong} does not belong here`
    return headers[name] === value ? null : `the header ${name} is wrong`
  }

export const bearer = onlyHeader('authorization', `Bearer ${KEY}`)
