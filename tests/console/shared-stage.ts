/**
 * One stage for all parts of a file: its visitors, keys and frail models have nothing in common.
 */

import { useStage } from './stage.ts'

export const TOP_UP_URL = 'https://billing.example/top-up'

export const stage = useStage({ environment: { TOPUP_URL: TOP_UP_URL } })
