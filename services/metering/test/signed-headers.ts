import { SignatureV4 } from '@smithy/signature-v4'
import { Sha256 } from '@gateway/service/sha256'

/** Of a request without a body to S3-compatible storage. */
export async function signedHeaders(
  method: string,
  { protocol, host, hostname, port, pathname, searchParams }: URL,
  credentials: { accessKeyId: string; secretAccessKey: string },
): Promise<Record<string, string>> {
  const signer = new SignatureV4({
    service: 's3',
    region: 'us-east-1',
    credentials,
    sha256: Sha256,
    uriEscapePath: false,
  })
  const { headers } = await signer.sign({
    method,
    protocol,
    hostname,
    port: Number(port),
    path: pathname,
    query: Object.fromEntries(searchParams),
    headers: { host },
  })
  const { host: _, ...own } = headers
  return own
}
