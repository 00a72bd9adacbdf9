/**
 * A collector for tests: takes spans over OTLP/HTTP as the wire has them (protobuf) and keeps them.
 */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { fieldsOf, type Field } from './protobuf.ts'

export interface ReceivedSpan {
  /** The resource's `service.name`. */
  service: string
  name: string
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  traceId: string
  spanId: string
  /** Empty for the first of a trace. */
  parentSpanId: string
  startedAtMs: number
  endedAtMs: number
  attributes: Record<string, string | number | boolean>
  events: string[]
  isError: boolean
}

export interface OtlpReceiver extends AsyncDisposable {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly endpoint: string
  readonly spans: ReceivedSpan[]
  /** Everything that came, as it came. */
  readonly bodies: Buffer[]
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    void buffer(request).then((sent) => {
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
      if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf') {
        response.writeHead(400).end()
        return
      }
      bodies.push(body)
      spans.push(...readSpans(body))
      response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** `ExportTraceServiceRequest` of opentelemetry/proto/collector/trace/v1; numbers are those of its .proto files. */
function readSpans(request: Uint8Array): ReceivedSpan[] {
  return messages(request, 1).flatMap((resourceSpans) => {
    const resource = messages(resourceSpans, 1)[0]
    const service = String(readAttributes(resource ?? new Uint8Array(), 1)['service.name'])
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => ({ service, ...readSpan(span) })),
    )
  })
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const ERROR_STATUS = 2n

function readSpan(span: Uint8Array): Omit<ReceivedSpan, 'service'> {
  const fields = fieldsOf(span)
  const bytes = (number: number) =>
    (fields.find((field) => field.number === number)?.value ?? new Uint8Array()) as Uint8Array
  const integer = (number: number) => (fields.find((field) => field.number === number)?.value ?? 0n) as bigint
  const status = messages(span, 15)[0]
  return {
    traceId: Buffer.from(bytes(1)).toString('hex'),
    spanId: Buffer.from(bytes(2)).toString('hex'),
    parentSpanId: Buffer.from(bytes(4)).toString('hex'),
    name: Buffer.from(bytes(5)).toString(),
    kind: KINDS[Number(integer(6))]!,
    startedAtMs: Number(integer(7)) / 1e6,
    endedAtMs: Number(integer(8)) / 1e6,
    attributes: readAttributes(span, 9),
    events: messages(span, 11).map((event) => Buffer.from(messages(event, 2)[0] ?? []).toString()),
    isError:
      status !== undefined && fieldsOf(status).some(({ number, value }) => number === 3 && value === ERROR_STATUS),
  }
}

function readAttributes(message: Uint8Array, number: number): Record<string, string | number | boolean> {
  const pairs = messages(message, number).map((pair) => {
    const [name, value] = [messages(pair, 1)[0], messages(pair, 2)[0]]
    return [Buffer.from(name ?? []).toString(), readValue(fieldsOf(value ?? new Uint8Array())[0])] as const
  })
  return Object.fromEntries(pairs)
}

/** `AnyValue`: string, bool, int, double. */
function readValue(field: Field | undefined): string | number | boolean {
  if (field === undefined) return ''
  const { number, value } = field
  if (number === 2) return value === 1n
  if (typeof value === 'bigint') return number === 4 ? doubleOf(value) : Number(BigInt.asIntN(64, value))
  return Buffer.from(value).toString()
}

function doubleOf(bits: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, bits)
  return view.getFloat64(0)
}

/** The fields of that number that are messages, strings or bytes. */
function messages(message: Uint8Array, number: number): Uint8Array[] {
  return fieldsOf(message).flatMap((field) =>
    field.number === number && typeof field.value !== 'bigint' ? [field.value] : [],
  )
}
