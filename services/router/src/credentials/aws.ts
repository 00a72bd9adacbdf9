/**
 * AWS: every call is signed (Signature Version 4) with the credentials of the standard chain. The chain looks in the
 * environment, profiles and SSO, and for a role of the container, the pod or the machine. It keeps the credentials and
 * renews them. When AWS refuses them, the router requests new ones before their end.
 */

import { fromNodeProviderChain } from '@aws-sdk/credential-providers'
import { Sha256 } from '@gateway/service/sha256'
import { SignatureV4 } from '@smithy/signature-v4'
import { rationRenewals, type Credential } from './credential.ts'

/** The name that `bedrock-runtime` signs as: docs.aws.amazon.com/general/latest/gr/bedrock.html, read in November 2026. */
const SERVICE = 'bedrock'

export function openCredential({ region }: { region: string }): Credential {
  const chain = fromNodeProviderChain({ clientConfig: { region } })
  const mayRenew = rationRenewals()
  let used: string[] = []
  let forceRefresh = false
  const credentials = async () => {
    const force = { forceRefresh }
    forceRefresh = false
    const found = await chain(force)
    used = [found.accessKeyId, found.secretAccessKey, found.sessionToken ?? ''].filter((secret) => secret !== '')
    return found
  }
  const signer = new SignatureV4({ service: SERVICE, region, credentials, sha256: Sha256 })
  return {
    async authorize({ method, url, headers, body }) {
      const { hostname, port, pathname, searchParams } = url
      const signed = await signer.sign({
        method,
        protocol: url.protocol,
        hostname,
        ...(port === '' ? {} : { port: Number(port) }),
        path: pathname,
        query: Object.fromEntries(searchParams),
        headers: { host: url.host, ...(headers['content-type'] ? { 'content-type': headers['content-type'] } : {}) },
        ...(body ? { body } : {}),
      })
      const { host: _, ...own } = signed.headers
      return own
    },
    renew: () => (forceRefresh = mayRenew()),
    secrets: () => used,
  }
}
