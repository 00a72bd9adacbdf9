/**
 * Who says and who hears what on the bus. The broker's permissions are written from this table, so a subject that is not
 * in it does not compile, and a service that is not named here is refused by a broker with permissions.
 */

import type { subjects } from './subjects.ts'

/** The names under which processes open the bus. `ctl` is the operator's command line. */
export const busRoles = ['edge', 'router', 'keys', 'metering', 'ctl'] as const
export type BusRole = (typeof busRoles)[number]

interface Talk {
  /**
   * - `job`: taken by one of `to`; frames go both ways
   * - `question`: answered by one of `to`
   * - `news`: heard by every one of `to`
   * - `event`: stored, and consumed by `to`
   */
  kind: 'job' | 'question' | 'news' | 'event'
  from: readonly BusRole[]
  to: readonly BusRole[]
}

const asks = (from: BusRole, to: BusRole): Talk => ({ kind: 'question', from: [from], to: [to] })

export const talks: Record<keyof typeof subjects, Talk> = {
  job: { kind: 'job', from: ['edge'], to: ['router'] },
  answers: { kind: 'job', from: ['edge'], to: ['edge'] },
  routersAlive: { kind: 'news', from: ['router'], to: ['router'] },
  routersDescribe: { kind: 'news', from: ['router'], to: ['router'] },
  routersDescribed: { kind: 'news', from: ['router'], to: ['router'] },
  routersShow: asks('ctl', 'router'),
  keysFill: asks('edge', 'keys'),
  keysLookUp: asks('edge', 'keys'),
  keysMintGuest: asks('edge', 'keys'),
  keysMint: asks('edge', 'keys'),
  keysRotate: asks('edge', 'keys'),
  keysRevoke: asks('edge', 'keys'),
  keysList: asks('edge', 'keys'),
  keysFindSession: asks('edge', 'keys'),
  keysFindAccount: asks('edge', 'keys'),
  keysAnswerSecrets: asks('edge', 'keys'),
  keysSetPlan: asks('ctl', 'keys'),
  keysSetOverage: asks('ctl', 'keys'),
  keysTopUp: asks('ctl', 'keys'),
  keysShowAccount: asks('ctl', 'keys'),
  keysRevokeById: asks('ctl', 'keys'),
  keysReseal: asks('ctl', 'keys'),
  keysReconcile: asks('ctl', 'keys'),
  keysInvalidated: { kind: 'news', from: ['keys'], to: ['edge'] },
  keysUsed: { kind: 'news', from: ['metering'], to: ['keys'] },
  keysNoteStanding: asks('metering', 'keys'),
  meteringQuota: asks('edge', 'metering'),
  meteringAccountUsage: { kind: 'question', from: ['edge', 'ctl'], to: ['metering'] },
  meteringUsageByAccount: asks('ctl', 'metering'),
  meteringReconcile: asks('ctl', 'metering'),
  meteringWarm: { kind: 'question', from: ['edge', 'keys'], to: ['metering'] },
  usage: { kind: 'event', from: ['edge', 'router'], to: ['metering'] },
  accountThreshold: { kind: 'event', from: ['keys'], to: [] },
}
