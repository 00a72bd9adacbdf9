import { ActionIcon, NativeSelect } from '@mantine/core'
import type { PlannedModel } from '@gateway/contracts/plan-api'
import { clientDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { useRef, useState, type FormEvent, type KeyboardEvent } from 'react'
import { formatPrice } from '../../core/format.ts'
import { conversationApis } from '../../gateway/conversation-apis.ts'
import { SendIcon, StopIcon } from '../../parts/icons.tsx'
import { draftSoFar, keepDraft } from './conversation.ts'
import classes from './composer.module.css'

const COMPOSING = 229

export interface ComposerProps {
  models: PlannedModel[]
  model: string
  onModel: (id: string) => void
  dialect: ClientDialect
  onDialect: (dialect: ClientDialect) => void
  isBusy: boolean
  onRequest: (question: string) => void
  onStop: () => void
}

export function Composer({ models, model, onModel, dialect, onDialect, isBusy, onRequest, onStop }: ComposerProps) {
  const [draft, setDraft] = useState(draftSoFar)
  const field = useRef<HTMLTextAreaElement>(null)

  function type(text: string): void {
    setDraft(text)
    keepDraft(text)
  }

  function submit(event?: FormEvent): void {
    event?.preventDefault()
    const question = draft.trim()
    if (question === '' || isBusy) return
    type('')
    onRequest(question)
    field.current?.focus()
  }

  /**
   * Enter sends, and Shift + Enter begins a line. Enter that ends the composition of a character does not send: Safari
   * marks that event by its key code alone.
   */
  function submitOnEnter(event: KeyboardEvent): void {
    const isComposing = event.nativeEvent.isComposing || event.keyCode === COMPOSING
    if (event.key !== 'Enter' || event.shiftKey || isComposing) return
    event.preventDefault()
    submit()
  }

  return (
    <form className={classes.form} onSubmit={submit}>
      <textarea
        ref={field}
        dir="auto"
        className={classes.field}
        aria-label="Your message"
        placeholder="Type a message"
        rows={2}
        value={draft}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={submitOnEnter}
      />
      <div className={classes.bar}>
        <NativeSelect
          aria-label="Model"
          size="sm"
          className={classes.model}
          value={model}
          onChange={(event) => onModel(event.currentTarget.value)}
        >
          {models.map((item) => (
            <option key={item.id} value={item.id} disabled={!item.included}>
              {describe(item)}
            </option>
          ))}
        </NativeSelect>
        <NativeSelect
          aria-label="API"
          size="sm"
          value={dialect}
          onChange={(event) => onDialect(event.currentTarget.value as ClientDialect)}
          data={clientDialects.map((value) => ({ value, label: conversationApis[value].label }))}
        />
        <span className={classes.hint}>Enter sends, Shift + Enter begins a line</span>
        {isBusy ? (
          <ActionIcon size={38} radius="xl" variant="default" aria-label="Stop generating" onClick={onStop}>
            <StopIcon />
          </ActionIcon>
        ) : (
          <ActionIcon size={38} radius="xl" type="submit" aria-label="Send" disabled={draft.trim() === ''}>
            <SendIcon />
          </ActionIcon>
        )}
      </div>
    </form>
  )
}

function describe({ id, name, type, included, price }: PlannedModel): string {
  const cost = type === 'auto' ? 'picks a lane' : price ? formatPrice(price) : ''
  const label = name ? `${name} (${id})` : id
  return [label, included ? cost : 'not in your plan'].filter(Boolean).join(' · ')
}
