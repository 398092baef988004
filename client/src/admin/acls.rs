//! Rules of who may do what: create, describe, delete. Brokers keep them where `authorizer.class.name` says so.

use std::collections::BTreeSet;

use ackflow_protocol::messages::create_acls::{AclCreation, CreateAclsRequest};
use ackflow_protocol::messages::delete_acls::{DeleteAclsFilter, DeleteAclsMatchingAcl, DeleteAclsRequest};
use ackflow_protocol::messages::describe_acls::{AclDescription, DescribeAclsRequest, DescribeAclsResource};

use super::{
    AclBinding, AclBindingFilter, AclOperation, AclPatternType, AclPermission, AclResourceType, Admin, Results, result,
};
use crate::error::ClientError;

impl Admin {
    /// Creates rules (CreateAcls). One that exists is no error.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Rules may have been created nevertheless.
    pub async fn create_acls(
        &self,
        rules: impl IntoIterator<Item = AclBinding>,
    ) -> Result<Results<AclBinding, ()>, ClientError> {
        let rules: BTreeSet<_> = rules.into_iter().collect();
        let request = CreateAclsRequest { creations: rules.iter().map(creation).collect() };
        let (response, connection) = self.ask_any(&request).await?;
        let results = rules.into_iter().zip(response.results).map(|(rule, answer)| {
            let doing = || format!("creating the rule {rule}");
            let message = answer.error_message.as_deref();
            let created = result((), doing, &connection, answer.error_code, message);
            (rule, created)
        });
        Ok(results.collect())
    }

    /// The rules that a filter matches (DescribeAcls), in their order.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer or the broker refuses.
    pub async fn describe_acls(&self, filter: &AclBindingFilter) -> Result<Vec<AclBinding>, ClientError> {
        let request = DescribeAclsRequest {
            resource_type_filter: filter.resource_type.0,
            resource_name_filter: filter.resource_name.clone(),
            pattern_type_filter: filter.pattern_type.0,
            principal_filter: filter.principal.clone(),
            host_filter: filter.host.clone(),
            operation: filter.operation.0,
            permission_type: filter.permission.0,
        };
        let (response, connection) = self.ask_any(&request).await?;
        let doing = || format!("describing the rules {filter}");
        result((), doing, &connection, response.error_code, response.error_message.as_deref())?;
        let of = |resource: &DescribeAclsResource| {
            resource.acls.iter().map(|rule| described(resource, rule)).collect::<Vec<_>>()
        };
        let mut rules: Vec<_> = response.resources.iter().flat_map(of).collect();
        rules.sort();
        Ok(rules)
    }

    /// Deletes the rules that filters match (DeleteAcls), and says for each filter which they were.
    ///
    /// Cancel-safe, as all calls of the module are.
    ///
    /// # Errors
    /// [`ClientError`] where there is no answer. Rules may have been deleted nevertheless.
    pub async fn delete_acls(
        &self,
        filters: impl IntoIterator<Item = AclBindingFilter>,
    ) -> Result<Results<AclBindingFilter, Results<AclBinding, ()>>, ClientError> {
        let filters: BTreeSet<_> = filters.into_iter().collect();
        let request = DeleteAclsRequest { filters: filters.iter().map(deletion).collect() };
        let (response, connection) = self.ask_any(&request).await?;
        let results = filters.into_iter().zip(response.filter_results).map(|(filter, answer)| {
            let deleted = answer.matching_acls.into_iter().map(|matching| {
                let (code, message) = (matching.error_code, matching.error_message.clone());
                let rule = deleted(matching);
                let outcome = result((), || format!("deleting the rule {rule}"), &connection, code, message.as_deref());
                (rule, outcome)
            });
            let doing = || format!("deleting the rules {filter}");
            let message = answer.error_message.as_deref();
            let outcome = result(deleted.collect(), doing, &connection, answer.error_code, message);
            (filter, outcome)
        });
        Ok(results.collect())
    }
}

fn creation(rule: &AclBinding) -> AclCreation {
    AclCreation {
        resource_type: rule.resource_type.0,
        resource_name: rule.resource_name.clone(),
        resource_pattern_type: rule.pattern_type.0,
        principal: rule.principal.clone(),
        host: rule.host.clone(),
        operation: rule.operation.0,
        permission_type: rule.permission.0,
    }
}

fn deletion(filter: &AclBindingFilter) -> DeleteAclsFilter {
    DeleteAclsFilter {
        resource_type_filter: filter.resource_type.0,
        resource_name_filter: filter.resource_name.clone(),
        pattern_type_filter: filter.pattern_type.0,
        principal_filter: filter.principal.clone(),
        host_filter: filter.host.clone(),
        operation: filter.operation.0,
        permission_type: filter.permission.0,
    }
}

fn described(resource: &DescribeAclsResource, rule: &AclDescription) -> AclBinding {
    AclBinding {
        resource_type: AclResourceType(resource.resource_type),
        resource_name: resource.resource_name.clone(),
        pattern_type: AclPatternType(resource.pattern_type),
        principal: rule.principal.clone(),
        host: rule.host.clone(),
        operation: AclOperation(rule.operation),
        permission: AclPermission(rule.permission_type),
    }
}

fn deleted(rule: DeleteAclsMatchingAcl) -> AclBinding {
    AclBinding {
        resource_type: AclResourceType(rule.resource_type),
        resource_name: rule.resource_name,
        pattern_type: AclPatternType(rule.pattern_type),
        principal: rule.principal,
        host: rule.host,
        operation: AclOperation(rule.operation),
        permission: AclPermission(rule.permission_type),
    }
}
