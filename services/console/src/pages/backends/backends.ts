import type { CallOutput } from '../../gateway/administration.ts'

/** All backends, together and as each router sees them. */
export type Backends = CallOutput<'backends.list'>
