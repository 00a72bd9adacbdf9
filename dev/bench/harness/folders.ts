/**
 * The bench keeps its products in these folders.
 */

import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../../..')

/** Programs, peers and launches' own data: all of it can be deleted. */
export const BENCH_DATA = join(ROOT, 'data', 'bench')

/** The published results. */
export const RESULTS = join(ROOT, 'dev', 'bench', 'results')
