{{- define "mediarooms.name" -}}
{{- printf "%s-operator" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "mediarooms.serviceAccount" -}}
{{- default (include "mediarooms.name" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "mediarooms.labels" -}}
app.kubernetes.io/name: mediarooms
app.kubernetes.io/component: operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The namespaces that get a Role; none where the operator watches all. */}}
{{- define "mediarooms.namespaces" -}}
{{- if not (has "*" .Values.operator.watchNamespaces) -}}
{{- join " " (default (list .Release.Namespace) .Values.operator.watchNamespaces) -}}
{{- end -}}
{{- end -}}
