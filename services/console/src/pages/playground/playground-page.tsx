import { Button } from '@mantine/core'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { firstModel } from '../../core/first-model.ts'
import { useKeys, usePlan, useRefreshAccount, activeKeyOf } from '../../gateway/queries.ts'
import { useCaller } from '../../gateway/use-caller.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { Page } from '../../parts/page.tsx'
import { CreateKey } from '../keys/create-key.tsx'
import { Composer } from './composer.tsx'
import { requestTurn, clearTurns, isRunning, stopTurn, removeTurn, useTurns, type Turn } from './conversation.ts'
import classes from './playground-page.module.css'
import { TurnView } from './turn-view.tsx'

export default function PlaygroundPage() {
  const keys = useKeys()
  const turns = useTurns()
  return (
    <Page
      title="Playground"
      lead="Requests go through your gateway and count like any other."
      actions={
        turns.length > 0 && (
          <Button variant="default" size="xs" onClick={clearTurns}>
            New conversation
          </Button>
        )
      }
    >
      <QueryView query={keys} heights={[420]}>
        {({ data }) =>
          activeKeyOf({ data }) ? (
            <Conversation />
          ) : (
            <CreateKey isFirst={data.length === 0} onCreated={() => undefined} />
          )
        }
      </QueryView>
    </Page>
  )
}

function Conversation() {
  const caller = useCaller()
  const plan = usePlan()
  const refresh = useRefreshAccount()
  const turns = useTurns()
  const [model, setModel] = useState<string | null>(null)
  const [dialect, setDialect] = useState<ClientDialect>('chat')
  const end = useFollowEnd(turns.length, turns.at(-1)?.text.length ?? 0)
  const isBusy = turns.some(isRunning)

  return (
    <QueryView query={plan} heights={[420]}>
      {({ models }) => {
        const chat = models.filter(({ type }) => type === 'chat' || type === 'auto')
        const chosen = chat.find(({ id }) => id === model)?.id ?? firstModel(chat)
        const sendRequest = (question: string) => void requestTurn(caller, dialect, chosen, question).then(refresh)
        const retry = ({ id, question }: Turn) => {
          removeTurn(id)
          sendRequest(question)
        }
        return (
          <div className={classes.space}>
            {turns.length === 0 && <Suggestions onPick={sendRequest} />}
            <div className={classes.turns}>
              {turns.map((turn) => (
                <TurnView
                  key={turn.id}
                  turn={turn}
                  models={models}
                  onRetry={turn === turns.at(-1) && turn.state === 'failed' ? () => retry(turn) : undefined}
                />
              ))}
            </div>
            <div ref={end} className={classes.end} />
            <Composer
              models={chat}
              model={chosen}
              onModel={setModel}
              dialect={dialect}
              onDialect={setDialect}
              isBusy={isBusy}
              onRequest={sendRequest}
              onStop={stopTurn}
            />
          </div>
        )
      }}
    </QueryView>
  )
}

const SUGGESTIONS = [
  { lane: 'A quick question', text: 'What is the capital of Australia?' },
  { lane: 'A bit of code', text: 'Write a function in Python that merges two sorted lists.' },
  { lane: 'Something to think about', text: 'Prove that the square root of two is irrational.' },
  { lane: 'Something current', text: 'What changed in the euro exchange rate this week?' },
]

function Suggestions({ onPick }: { onPick: (text: string) => void }) {
  return (
    <div className={classes.start}>
      <h2 className={classes.title}>Send a message</h2>
      <p className="quiet">Auto picks a lane for each message and says which one, and why.</p>
      <ul className={classes.list}>
        {SUGGESTIONS.map(({ lane, text }) => (
          <li key={text}>
            <button type="button" className={classes.card} onClick={() => onPick(text)}>
              <span className={classes.lane}>{lane}</span>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A reader this close to the end counts as being there. */
const NEAR_PX = 160

/** Follows the end of a growing page while the reader stays there, and scrolls to it when `turns` grows. */
function useFollowEnd(turns: number, length: number): RefObject<HTMLDivElement | null> {
  const end = useRef<HTMLDivElement>(null)
  const wasAtEnd = useRef(true)
  useEffect(() => {
    const note = () => {
      const page = document.documentElement
      wasAtEnd.current = page.scrollHeight - page.scrollTop - window.innerHeight < NEAR_PX
    }
    window.addEventListener('scroll', note, { passive: true })
    return () => window.removeEventListener('scroll', note)
  }, [])
  useEffect(() => {
    if (turns > 0) end.current?.scrollIntoView({ block: 'end' })
  }, [turns])
  useEffect(() => {
    if (length > 0 && wasAtEnd.current) end.current?.scrollIntoView({ block: 'end' })
  }, [length])
  return end
}
