{{/* What the templates share. Named templates that take a service get (dict "root" $ "service" "edge"). */}}

{{- define "gateway.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{/* The services that exist, in the order in which they are listed. */}}
{{- define "gateway.services" -}}
edge router keys metering
{{- end }}

{{- define "gateway.name" -}}
{{ include "gateway.fullname" .root }}-{{ .service }}
{{- end }}

{{- define "gateway.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ toYaml .root.Release.Name }}
app.kubernetes.io/component: {{ .service }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Pod and container of the restricted Pod Security Standard; the images run as the user `node`. */}}
{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
{{- range $name, $id := .root.Values.podSecurity }}
{{- if $id }}
{{ $name }}: {{ int64 $id }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "gateway.configMapName" -}}
{{- if .Values.configMap -}}{{ .Values.configMap }}{{- else -}}{{ include "gateway.fullname" . }}-config{{- end -}}
{{- end }}

{{/* The image of a service: its own digest or tag, else that of all. */}}
{{- define "gateway.image" -}}
{{- $own := (index .root.Values .service).image -}}
{{- $name := printf "%s/%s" .root.Values.image.registry .service -}}
{{- if $own.digest -}}{{ printf "%s@%s" $name $own.digest }}{{- else -}}{{ printf "%s:%s" $name (coalesce $own.tag .root.Values.image.tag .root.Chart.AppVersion) }}{{- end -}}
{{- end }}

{{/* Where the services find the authorities that they trust beside the public ones. */}}
{{- define "gateway.authoritiesFolder" -}}
/etc/trusted-authorities
{{- end }}

{{- define "gateway.authoritiesEnv" -}}
{{- if include "gateway.authoritiesVolume" . }}
- { name: NODE_EXTRA_CA_CERTS, value: {{ printf "%s/%s" (include "gateway.authoritiesFolder" .) .Values.trustedAuthorities.key | quote }} }
{{- end }}
{{- end }}

{{- define "gateway.authoritiesVolume" -}}
{{- $trusted := .Values.trustedAuthorities -}}
{{- if $trusted.configMap }}
- { name: authorities, configMap: { name: {{ toYaml $trusted.configMap }} } }
{{- else if $trusted.secret }}
- { name: authorities, secret: { secretName: {{ toYaml $trusted.secret }} } }
{{- end }}
{{- end }}

{{/* The port of an address, with a scheme or as host:port. */}}
{{- define "gateway.portOf" -}}
{{- $port := regexReplaceAll "^(?:[a-z]+://)?[^/]*?(?::([0-9]+))?(?:/.*)?$" . "${1}" -}}
{{- default (ternary "80" "443" (hasPrefix "http://" .)) $port -}}
{{- end }}

{{/* The policy's ports of a flow; without any, the port of its address. */}}
{{- define "gateway.flow" -}}
to: {{ toJson .flow.to }}
ports: {{ if .flow.ports }}{{ toJson .flow.ports }}{{ else }}[{ port: {{ include "gateway.portOf" .address }}, protocol: TCP }]{{ end }}
{{- end }}

{{/* What a router may open: the ports of the backends that the chart knows, and that of the vendors. */}}
{{- define "gateway.backendPorts" -}}
{{- $open := dict "443" true -}}
{{- range (default dict .Values.config).backends -}}
{{- if .url -}}
{{- $_ := set $open (include "gateway.portOf" .url) true -}}
{{- end -}}
{{- end -}}
{{- range $port := keys $open | sortAlpha }}
- { port: {{ $port }}, protocol: TCP }
{{- end }}
{{- end }}

{{/* The address of NATS after the user's name and password. */}}
{{- define "gateway.natsAddress" -}}
{{- if .Values.nats.enabled -}}{{ include "gateway.fullname" . }}-nats:4222{{- else -}}{{ .Values.nats.address }}{{- end -}}
{{- end }}

{{- define "gateway.natsUrl" -}}
{{ printf "%s://%s:$(NATS_PASSWORD)@%s" (ternary "tls" "nats" .root.Values.nats.tls.enabled) .service (include "gateway.natsAddress" .root) }}
{{- end }}

{{/* Whether somebody else than the chart sets the number of a service's pods. */}}
{{- define "gateway.isScaled" -}}
{{- $autoscaling := default dict .autoscaling -}}
{{- if or $autoscaling.enabled $autoscaling.external -}}true{{- end -}}
{{- end }}

{{/* The most edges that ever run at once: those of the autoscaler, and those that a rollout adds. */}}
{{- define "gateway.edgesMax" -}}
{{- $edge := .Values.edge -}}
{{- add (ternary $edge.autoscaling.maxReplicas $edge.replicas (include "gateway.isScaled" $edge | eq "true")) $edge.maxSurge -}}
{{- end }}

{{/* How long a pod may take to stop: all that it does in turn, and a margin for its last reports. */}}
{{- define "gateway.graceSeconds" -}}
{{- $own := index .root.Values .service -}}
{{- add (default 0 $own.preStopSeconds) (default 0 $own.stopNoticeSeconds) (default 0 $own.drainSeconds) 30 -}}
{{- end }}

{{- define "gateway.env" -}}
{{- $values := .root.Values -}}
{{- $own := index $values .service -}}
- { name: LOG_LEVEL, value: {{ $own.logLevel | quote }} }
- { name: HEALTH_PORT, value: "8081" }
- { name: HEALTH_HOST, value: 0.0.0.0 }
- name: NATS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ toYaml $values.secrets.natsPasswords.name }}, key: {{ .service }} } }
- { name: NATS_URL, value: {{ include "gateway.natsUrl" . | quote }} }
- { name: NATS_STREAM_REPLICAS, value: {{ $values.nats.streamReplicas | quote }} }
- { name: GATEWAY_CONFIG, value: /etc/model-gateway/gateway.yaml }
{{- if ne .service "router" }}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ toYaml $values.secrets.redis.name }}, key: {{ toYaml $values.secrets.redis.key }} } }
{{- end }}
{{- with $values.tracing }}
{{- if .endpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .endpoint | quote }} }
- { name: OTEL_TRACES_SAMPLER, value: {{ .sampler }} }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .ratio | quote }} }
{{- end }}
{{- end }}
{{- with include "gateway.authoritiesEnv" .root }}
{{ . | trim }}
{{- end }}
{{- if hasKey $own "drainSeconds" }}
- { name: DRAIN_MS, value: {{ mul $own.drainSeconds 1000 | quote }} }
{{- end }}
{{- if eq .service "edge" }}
- { name: PORT, value: "8080" }
- { name: HOST, value: 0.0.0.0 }
- { name: STOP_NOTICE_MS, value: {{ mul $own.stopNoticeSeconds 1000 | quote }} }
- { name: EDGE_REPLICAS_MAX, value: {{ include "gateway.edgesMax" .root | quote }} }
- { name: PUBLIC_BASE_URL, value: {{ $values.publicUrl | quote }} }
- { name: AUTH_ISSUER, value: {{ $values.signIn.issuer | quote }} }
{{- range $name, $value := dict "AUTH_AUDIENCE" $values.signIn.audience "CONSOLE_CLIENT_ID" $values.signIn.consoleClientId "CONSOLE_SCOPE" $values.signIn.consoleScope "DOCS_URL" $values.docsUrl "TOPUP_URL" $values.topupUrl "CONSOLE_URL" $values.consoleUrl "CORS_ORIGINS" (join "," $values.corsOrigins) }}
{{- if $value }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}
- { name: TRUST_PROXY, value: {{ $values.trustProxy | default (ternary "1" "false" (eq $own.service.type "ClusterIP")) | quote }} }
{{- end }}
{{- if has .service (list "keys" "metering") }}
{{- $database := index $values.secrets (printf "%sDatabase" .service) }}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ toYaml $database.name }}, key: {{ toYaml $database.key }} } }
{{- end }}
{{- if eq .service "keys" }}
- name: KEYS_MASTER_SECRET
  valueFrom: { secretKeyRef: { name: {{ toYaml $values.secrets.masterSecret.name }}, key: {{ toYaml $values.secrets.masterSecret.key }} } }
{{- end }}
{{- end }}

{{/* Pods of a service far from each other, and no rollout held up where that cannot be. */}}
{{- define "gateway.topologySpread" -}}
{{- range (index .root.Values .service).topologySpread }}
- topologyKey: {{ . }}
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "gateway.selectorLabels" $ | nindent 6 }}
{{- end }}
{{- end }}
