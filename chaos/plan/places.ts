/**
 * The places at which something can be struck: processes, servers, backends, and what lies between any two that speak
 * with each other.
 */

export const PROCESSES = ['edge-1', 'edge-2', 'router-1', 'router-2', 'keys-1', 'metering-1'] as const
export const SERVERS = ['nats', 'redis', 'postgres'] as const
export const BACKENDS = ['north', 'south', 'bulk'] as const
export type ProcessName = (typeof PROCESSES)[number]
export type ServerName = (typeof SERVERS)[number]
export type Backend = (typeof BACKENDS)[number]
export type Victim = ProcessName | ServerName
export const VICTIMS: readonly Victim[] = [...PROCESSES, ...SERVERS]

/** From those who connect to those who listen. */
export const LINKS = [
  'clients:edge-1',
  'clients:edge-2',
  'edge-1:nats',
  'edge-1:redis',
  'edge-2:nats',
  'edge-2:redis',
  'router-1:nats',
  'router-1:north',
  'router-1:south',
  'router-1:bulk',
  'router-2:nats',
  'router-2:north',
  'router-2:south',
  'router-2:bulk',
  'keys-1:nats',
  'keys-1:redis',
  'keys-1:postgres',
  'metering-1:nats',
  'metering-1:redis',
  'metering-1:postgres',
] as const
export type LinkName = (typeof LINKS)[number]

export function endsOf(link: LinkName): [from: string, to: string] {
  const [from = '', to = ''] = link.split(':')
  return [from, to]
}
