import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useState } from 'react'
import { EVENT_TYPES, type AuditFilters } from '../../core/audit-rows.ts'
import { changeQuery } from '../../navigation.ts'
import classes from './audit.module.css'

const NONE: Required<AuditFilters> = { from: '', to: '', actor: '', type: '', project: '' }
const PAUSE_MS = 300

/** Each field filters once the person pauses. */
export function AuditFilterForm({ filters }: { filters: AuditFilters }) {
  const shown = { ...NONE, ...filters }
  const isFiltered = Object.keys(NONE).some((name) => shown[name as keyof AuditFilters] !== '')
  return (
    <div className={classes.filters} role="search" aria-label="Filters">
      <Field name="from" label="From" type="date" value={shown.from} />
      <Field name="to" label="To" type="date" value={shown.to} />
      <NativeSelect
        size="xs"
        label="Event"
        data={[{ value: '', label: 'All' }, ...EVENT_TYPES]}
        value={shown.type}
        onChange={({ currentTarget: { value } }) => changeQuery({ type: value })}
      />
      <Field name="actor" label="Actor" placeholder="e-mail or id" value={shown.actor} />
      <Field name="project" label="Project" placeholder="proj_…" value={shown.project} />
      {isFiltered && (
        <Button variant="default" size="xs" onClick={() => changeQuery(NONE)}>
          Clear
        </Button>
      )}
    </div>
  )
}

interface FieldProps {
  name: keyof AuditFilters
  label: string
  value: string
  type?: 'date'
  placeholder?: string
}

function Field({ name, label, value, type, placeholder }: FieldProps) {
  const [typed, setTyped] = useState({ text: value, of: value })
  // Another part of the page may have changed the filter.
  const text = typed.of === value ? typed.text : value
  const filter = useDebouncedCallback((next: string) => changeQuery({ [name]: next.trim() }), PAUSE_MS)
  return (
    <TextInput
      size="xs"
      label={label}
      {...(type && { type })}
      {...(placeholder && { placeholder })}
      value={text}
      onChange={({ currentTarget: { value: next } }) => {
        setTyped({ text: next, of: value })
        filter(next)
      }}
    />
  )
}
