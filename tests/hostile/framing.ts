/**
 * Requests on raw sockets whose framing is false or open to more than one reading. Where a second request could hide
 * in one, it does: it would show as a second response.
 */

export interface FramingCase {
  name: string
  bytes: Buffer
}

/** Stands for a key that is not yet known when the cases are listed; as long as one. */
export const KEY_PLACEHOLDER = 'KEY'.padEnd(58, '_')

const BODY = '{"model":"svc-core","messages":[{"role":"user","content":"Say: hi"}]}'
const HIDDEN = 'GET /v1/models/hidden HTTP/1.1\r\nHost: gateway\r\n\r\n'
const chunked = (body: string, rest = '') => `${body.length.toString(16)}\r\n${body}\r\n0\r\n${rest}\r\n`
const size = BODY.length.toString(16)

export function framingCases(): { refused: FramingCase[]; served: FramingCase[] } {
  const head = (...lines: string[]) =>
    [
      'POST /v1/chat/completions HTTP/1.1',
      'Host: gateway',
      `Authorization: Bearer ${KEY_PLACEHOLDER}`,
      'Content-Type: application/json',
      ...lines,
    ].join('\r\n') + '\r\n\r\n'
  const get = (...lines: string[]) => ['GET /v1/models/svc-core HTTP/1.1', ...lines].join('\r\n') + '\r\n\r\n'
  const te = (value: string, body = chunked(BODY)) => head(`Transfer-Encoding:${value}`) + body
  const cl = (...values: string[]) => head(...values.map((value) => `Content-Length: ${value}`)) + BODY
  const list = (cases: Record<string, string | Buffer>): FramingCase[] =>
    Object.entries(cases).map(([name, bytes]) => ({ name, bytes: Buffer.from(bytes as string, 'latin1') }))

  const refused = list({
    'CL.TE: both lengths, the rest hidden behind chunks':
      head('Content-Length: 6', 'Transfer-Encoding: chunked') + `0\r\n\r\n${HIDDEN}`,
    'TE.CL: both lengths the other way':
      head('Transfer-Encoding: chunked', 'Content-Length: 4') + chunked(BODY) + HIDDEN,
    'TE.TE: an encoding that is unknown': te(' xchunked') + HIDDEN,
    'TE.TE: chunked, and something after it': te(' chunked, identity') + HIDDEN,
    'TE.TE: something before chunked': te(' identity, chunked') + HIDDEN,
    'TE.TE: twice': head('Transfer-Encoding: chunked', 'Transfer-Encoding: identity') + chunked(BODY) + HIDDEN,
    'TE.TE: twice the same': head('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + chunked(BODY) + HIDDEN,
    'a space before the colon': head('Transfer-Encoding : chunked') + chunked(BODY) + HIDDEN,
    'a vertical tab before the value': te('\x0bchunked') + HIDDEN,
    'a quoted value': te(' "chunked"') + HIDDEN,
    'a folded value': te('\r\n chunked') + HIDDEN,
    'chunks by HTTP/1.0': te(' chunked').replace('HTTP/1.1', 'HTTP/1.0') + HIDDEN,
    'two lengths that differ': cl(String(BODY.length), '3') + HIDDEN,
    'two lengths that agree': cl(String(BODY.length), String(BODY.length)) + HIDDEN,
    'a list of lengths': cl(`${BODY.length}, ${BODY.length}`) + HIDDEN,
    'a length with a sign': cl(`+${BODY.length}`),
    'a negative length': cl('-1'),
    'a hexadecimal length': cl('0x10'),
    'a length with a space in it': cl('1 0'),
    'a length beyond all numbers': cl('9'.repeat(20)),
    'bare LF line ends': get('Host: gateway').replaceAll('\r\n', '\n'),
    'a bare LF in the head': get('Host: gateway\nX-A: b'),
    'a bare CR in the head': get('Host: gateway\rX-A: b'),
    'a folded header': get('Host: gateway', 'X-A: a', ' b'),
    'a fold before the first header': get(' Host: gateway'),
    'a bare LF in a chunk size': head('Transfer-Encoding: chunked') + `${size};a\n${BODY}\r\n0\r\n\r\n`,
    'bare LF between chunks': head('Transfer-Encoding: chunked') + `${size}\n${BODY}\n0\n\n`,
    'a chunk size beyond all numbers':
      head('Transfer-Encoding: chunked') + `ffffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`,
    'a negative chunk size': head('Transfer-Encoding: chunked') + `-1\r\n${BODY}\r\n0\r\n\r\n`,
    'a chunk size with a prefix': head('Transfer-Encoding: chunked') + `0x${size}\r\n${BODY}\r\n0\r\n\r\n`,
    'a chunk longer than its size': head('Transfer-Encoding: chunked') + `${size}\r\n${BODY}XX0\r\n\r\n`,
    'endless chunk extensions':
      head('Transfer-Encoding: chunked') + `${size};${'a'.repeat(100_000)}\r\n${BODY}\r\n0\r\n\r\n`,
    'a length among the trailers': head('Transfer-Encoding: chunked') + chunked(BODY, 'Content-Length: 5\r\n') + HIDDEN,
    'two hosts': get('Host: gateway', 'Host: other'),
    'two credentials': get('Host: gateway', 'Authorization: Bearer a', 'Authorization: Bearer b'),
    'no host': get('X-A: b'),
    'a target on another host': get('Host: gateway').replace('/v1', 'http://evil.example/v1'),
    'a target that is a host': get('Host: gateway').replace('/v1/models/svc-core', 'evil.example:80'),
    'HTTP/0.9': 'GET /v1/models/svc-core\r\n\r\n',
    'HTTP/3.7': get('Host: gateway').replace('HTTP/1.1', 'HTTP/3.7'),
    "HTTP/2's first words": `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${HIDDEN}`,
    "TLS' first words": Buffer.from('160301020001000001fc0303', 'hex'),
    'a NUL in a value': get('Host: gateway', 'X-A: a\0b'),
    'a NUL in a name': get('Host: gateway', 'X\0A: b'),
    'a control character in a value': get('Host: gateway', 'X-A: a\x01b'),
    'a space in a name': get('Host: gateway', 'X A: b'),
    'a header without a colon': get('Host: gateway', 'XA'),
    'a space in the target': get('Host: gateway').replace('svc-core', 'svc core'),
    'a method in small letters': get('Host: gateway').replace('GET', 'get'),
    'a method that is unknown': get('Host: gateway').replace('GET', 'SMUGGLE'),
    'one huge header': get('Host: gateway', `X-A: ${'a'.repeat(17_000)}`),
    'thousands of headers': get('Host: gateway', ...Array.from({ length: 3_000 }, (_, index) => `x${index}: b`)),
    'a huge target': get('Host: gateway').replace('svc-core', 'a'.repeat(17_000)),
  })

  const served = list({
    'a length': cl(String(BODY.length)),
    chunks: te(' chunked'),
    'chunks, in capitals': te(' CHUNKED'),
    'chunks, after a tab': te('\tchunked'),
    'chunks with extensions': head('Transfer-Encoding: chunked') + `${size};a=b\r\n${BODY}\r\n0\r\n\r\n`,
    'a body where none belongs': get('Host: gateway', `Content-Length: ${HIDDEN.length}`) + HIDDEN,
    'an absolute target of its host': get('Host: gateway').replace('/v1', 'http://gateway/v1'),
    'an offer of HTTP/2 in the clear': get(
      'Host: gateway',
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQ',
    ),
    'bytes beyond ASCII in a value': get('Host: gateway', 'X-A: \xff\xfe'),
    'empty lines before it': `\r\n\r\n${get('Host: gateway')}`,
    'a request for 100 Continue': head('Expect: 100-continue', `Content-Length: ${BODY.length}`) + BODY,
  })
  return { refused, served }
}
