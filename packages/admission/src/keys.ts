/** The keys team's face of admission: the type here, an adapter from `redis.ts` or `memory.ts`. */
export type { HeldAccount, KeysAdmission } from './port.ts'
