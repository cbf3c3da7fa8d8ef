{{- define "slipway.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters: names of pods and of their labels are longer, and Kubernetes allows 63. */}}
{{- define "slipway.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "slipway.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "slipway.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "slipway.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "slipway.releaseLabels" . }}
{{- end -}}

{{/* What pods of this release have in common. */}}
{{- define "slipway.releaseLabels" -}}
app.kubernetes.io/name: {{ include "slipway.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "slipway.image" -}}
{{ .repository }}:{{ .tag | default .root.Chart.AppVersion }}
{{- end -}}

{{/* The Secret with keys, and the Secret with addresses and passwords of other services. */}}
{{- define "slipway.keysSecret" -}}
{{- .Values.secrets.existingSecret | default (include "slipway.fullname" .) -}}
{{- end -}}
{{- define "slipway.connectionsSecret" -}}
{{- include "slipway.fullname" . }}-connections
{{- end -}}

{{- define "slipway.hasBroker" -}}
{{- if or .Values.broker.url .Values.broker.existingSecret .Values.rabbitmq.enabled -}}true{{- end -}}
{{- end -}}
{{- define "slipway.hasPostgres" -}}
{{- if or .Values.database.url .Values.database.existingSecret .Values.postgresql.enabled -}}true{{- end -}}
{{- end -}}

{{- define "slipway.baseUrl" -}}
{{- if .Values.baseUrl -}}
{{- .Values.baseUrl -}}
{{- else if .Values.ingress.enabled -}}
{{- ternary "https" "http" (ne .Values.ingress.tlsSecret "") }}://{{ .Values.ingress.host -}}
{{- end -}}
{{- end -}}

{{/* A variable whose value is in a Secret: name, secret, key. */}}
{{- define "slipway.secretEnv" -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end -}}

{{/* Variables of the gateway and of the deploy service. */}}
{{- define "slipway.serverEnv" -}}
- name: SLIPWAY_CONFIG
  value: /etc/slipway/slipway.yaml
- name: SLIPWAY_SERVER_LISTEN
  value: 0.0.0.0:8080
- name: SLIPWAY_DATA_DIR
  value: /var/lib/slipway
{{- with include "slipway.baseUrl" . }}
- name: SLIPWAY_SERVER_BASE_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.trustedProxies }}
- name: SLIPWAY_SERVER_TRUSTED_PROXIES
  value: {{ join "," . | quote }}
{{- end }}
{{ include "slipway.secretEnv" (dict "name" "SLIPWAY_METRICS_TOKEN" "secret" (include "slipway.keysSecret" .) "key" "metrics-token") }}
{{- end -}}

{{/* Changes when settings or given secrets change, so that pods are replaced. Generated secrets do not change. */}}
{{- define "slipway.checksum" -}}
{{- list .Values.settings .Values.secrets .Values.broker .Values.database .Values.rabbitmq.password .Values.postgresql.password | toJson | sha256sum -}}
{{- end -}}

{{- define "slipway.podSecurity" -}}
runAsNonRoot: true
# The user slipway of the image. ssh needs a user that exists.
runAsUser: 999
runAsGroup: 999
fsGroup: 999
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "slipway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: {{ . }}
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Alive, not ready: a pod that is restarted because its broker or database is away would only lose its connections. */}}
{{- define "slipway.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: http }
  periodSeconds: 2
  # Migrations of a large database take minutes.
  failureThreshold: 300
livenessProbe:
  httpGet: { path: /livez, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 2
  # Longer than the checks behind it, which end after 3 s.
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{/* Where pods are placed; `spreads`: the labels of pods that prefer different nodes. */}}
{{- define "slipway.placement" -}}
{{- with .part.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .part.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- else }}
{{- with .spreads }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- . | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A claim of a StatefulSet, or its fields for a PersistentVolumeClaim. */}}
{{- define "slipway.claimSpec" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClassName }}
storageClassName: {{ . | quote }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end -}}
