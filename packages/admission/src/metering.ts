/** The metering team's face of admission: the type here, an adapter from `redis.ts` or `memory.ts`. */
export type { HeldAccount, IncludedRequest, MeteringAdmission } from './port.ts'
