/** The edge team's face of admission: the type here, an adapter from `redis.ts` or `memory.ts`. */
export type { AdmitAnswer, AdmitAsk, EdgeAdmission, PlanLimits, RequestEnd, RunningLease, Standing } from './port.ts'
