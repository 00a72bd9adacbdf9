/**
 * The broker's permissions that a process needs for the bus' own mechanisms, beyond the subjects that it says and
 * hears. `name` is the one it opens the bus under: all processes of a name share their rights.
 */

export interface Permissions {
  publish: string[]
  subscribe: string[]
}

/** Its own inbox, and the heartbeat that it sends itself. */
export function ownInbox(name: string): Permissions {
  return { publish: [`inbox.${name}.*.h.0`], subscribe: [`inbox.${name}.*.>`] }
}

/** Frames to the other side of a job. */
export function framesTo(name: string): string {
  return `inbox.${name}.*.f.0`
}

/** Making sure of a stream that is published to; the events themselves go to their own subjects. */
export function ensuringStream(stream: string): string[] {
  return [`$JS.API.STREAM.INFO.${stream}`, `$JS.API.STREAM.CREATE.${stream}`]
}

/** Writing and reading the last message of a subject, which goes to its own subject. */
export function keepingIn(stream: string): string[] {
  return [...ensuringStream(stream), `$JS.API.STREAM.MSG.GET.${stream}`]
}

/** Consuming a stream, and removing from it the events that every consumer has acknowledged. */
export function consuming(stream: string, consumer: string): string[] {
  return [
    ...ensuringStream(stream),
    `$JS.API.STREAM.PURGE.${stream}`,
    `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.${consumer}`,
    `$JS.API.CONSUMER.INFO.${stream}.${consumer}`,
    `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`,
    `$JS.ACK.${stream}.${consumer}.>`,
  ]
}
