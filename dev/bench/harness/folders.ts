/**
 * Where the bench keeps what it makes.
 */

import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../../..')

/** Programs, peers and launches' own data: all of it can be deleted. */
export const BENCH_DATA = join(ROOT, 'data', 'bench')

/** What is published. */
export const RESULTS = join(ROOT, 'dev', 'bench', 'results')
