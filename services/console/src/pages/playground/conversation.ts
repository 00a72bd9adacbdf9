/**
 * The playground's conversation: kept while the page lives, so that looking something up elsewhere loses nothing.
 */

import { useSyncExternalStore } from 'react'
import type { Problem } from '../../core/explain-problem.ts'
import type { Caller } from '../../gateway/ask.ts'
import { streamChat, type AnswerHead, type AnswerTotals, type ChatQuestion } from '../../gateway/stream-chat.ts'
import { problemOf } from '../../parts/answer.tsx'

export interface Turn {
  id: number
  model: string
  question: string
  text: string
  state: 'waiting' | 'streaming' | 'done' | 'stopped' | 'failed'
  head: AnswerHead | null
  totals: AnswerTotals | null
  problem: Problem | null
  firstTokenMs: number | null
  totalMs: number | null
}

let turns: readonly Turn[] = []
let stopping: AbortController | null = null
const listeners = new Set<() => void>()

function put(next: readonly Turn[]): void {
  turns = next
  for (const listener of listeners) listener()
}

function change(id: number, part: Partial<Turn>): void {
  put(turns.map((turn) => (turn.id === id ? { ...turn, ...part } : turn)))
}

export function useTurns(): readonly Turn[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => turns,
  )
}

export function clearTurns(): void {
  stopTurn()
  put([])
}

/** The answer so far stays. */
export function stopTurn(): void {
  stopping?.abort()
}

/** Resolves when the answer is over, however it ended. */
export async function askTurn(caller: Caller, model: string, question: string): Promise<void> {
  const id = (turns.at(-1)?.id ?? 0) + 1
  const messages: ChatQuestion['messages'] = [...turns.flatMap(toMessages), { role: 'user', content: question }]
  const controller = (stopping = new AbortController())
  put([...turns, { ...EMPTY, id, model, question }])
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  let text = ''
  let firstTokenMs: number | null = null

  try {
    const totals = await streamChat(caller, { model, messages }, controller.signal, {
      onHead: (head) => change(id, { head }),
      onText(piece) {
        text += piece
        firstTokenMs ??= elapsed()
        change(id, { text, firstTokenMs, state: 'streaming' })
      },
    })
    change(id, { totals, state: 'done', totalMs: elapsed() })
  } catch (error) {
    if (controller.signal.aborted) return change(id, { state: 'stopped', totalMs: elapsed() })
    change(id, { problem: problemOf(error), state: 'failed', totalMs: elapsed() })
  }
}

const EMPTY: Omit<Turn, 'id' | 'model' | 'question'> = {
  text: '',
  state: 'waiting',
  head: null,
  totals: null,
  problem: null,
  firstTokenMs: null,
  totalMs: null,
}

/** What failed before its first word is no part of the conversation. */
function toMessages({ question, text }: Turn): ChatQuestion['messages'] {
  if (text === '') return []
  return [
    { role: 'user', content: question },
    { role: 'assistant', content: text },
  ]
}
