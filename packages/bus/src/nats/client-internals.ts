/**
 * The one import of internals of the NATS client (3.4.0). Two things need them, and `connect` of the public entry
 * allows neither. The library's transport leaks sockets (`connection.test.ts`), and the bus reads all bytes into one
 * buffer.
 *
 * Upstream should export `NodeTransport`, and let `connect` take a factory of transports. This file then goes.
 */

export { NatsConnectionImpl, setTransportFactory } from '@nats-io/nats-core/internal'
export { nodeResolveHost, NodeTransport } from '@nats-io/transport-node/lib/node_transport.js'
