/** The edge team's face of admission: the type here, an adapter from `redis.ts` or `memory.ts`. */
export type { AdmitAnswer, AdmitAsk, EdgeAdmission, PlanLimits, RunningLease, Standing } from './port.ts'
