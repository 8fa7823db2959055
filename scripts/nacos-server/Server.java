package cordon.nacos;

import com.alibaba.nacos.core.code.ControllerMethodsCache;
import com.alibaba.nacos.sys.filter.NacosTypeExcludeFilter;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.actuate.autoconfigure.security.servlet.ManagementWebSecurityAutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.security.servlet.SecurityAutoConfiguration;
import org.springframework.boot.autoconfigure.security.servlet.UserDetailsServiceAutoConfiguration;
import org.springframework.boot.web.servlet.ServletComponentScan;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ComponentScan;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.FilterType;
import org.springframework.scheduling.annotation.EnableScheduling;

/**
 * Runs Nacos' config and naming modules in one process. The main class of a Nacos distribution stands in its console, which is not among the published
 * modules; this one does what that does for these two. Spring's own login page, which is on by default, stays off.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration(exclude = {
    SecurityAutoConfiguration.class, UserDetailsServiceAutoConfiguration.class, ManagementWebSecurityAutoConfiguration.class})
@ComponentScan(
    basePackages = Server.MODULES,
    excludeFilters = @ComponentScan.Filter(type = FilterType.CUSTOM, classes = NacosTypeExcludeFilter.class))
@ServletComponentScan(Server.MODULES)
@EnableScheduling
public class Server {
    static final String MODULES = "com.alibaba.nacos";

    public static void main(String[] arguments) {
        SpringApplication.run(Server.class, arguments);
    }

    /** The filters of the HTTP API find the method of a request in this cache; a controller that is not in it answers 501. */
    @Bean
    ApplicationRunner knownControllers(ControllerMethodsCache methods) {
        return arguments -> {
            for (String module : new String[] {"core.controller", "config.server.controller", "naming.controllers"}) {
                methods.initClassMethod(MODULES + "." + module);
            }
        };
    }
}
